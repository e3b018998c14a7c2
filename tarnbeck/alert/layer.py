"""Looks after all rules of an application for as long as the node runs, and has what is due brought where it goes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from tarnbeck.alert import mail, notice, stream, webhook
from tarnbeck.alert.courier import Courier, Send, tried
from tarnbeck.alert.found import Found, Source, Status, source_of
from tarnbeck.alert.notice import Happened
from tarnbeck.alert.state import FIRING, State, Timing, step
from tarnbeck.app import App
from tarnbeck.errors import TarnbeckError, UsageError, unknown
from tarnbeck.plan.alert import Alert
from tarnbeck.plan.destination import Destination, Email, Webhook
from tarnbeck.serve.changes import State as ViewState
from tarnbeck.serve.changes import states
from tarnbeck.serve.events import Senders
from tarnbeck.serve.render import to_json
from tarnbeck.store.protocol import Store, Told
from tarnbeck.store.state import AlertState
from tarnbeck.window.duration import SECOND

TICK = 0.2
"""Seconds between two looks at the cuts."""
ENDS_WITHIN = 2.0
MOST_KEYS = 1_000
"""Keys of one rule that are pending or firing at the same time: nobody reads more notices than that."""


@dataclass(frozen=True)
class Setting:
    """What rules work with; `told` hears of what people should know."""

    store: Store
    senders: Senders
    clock: Callable[[], int]
    status: Callable[[], Status]
    told: Callable[[str], None]


class Rule:
    """One rule at work: where it looks, and the keys for which it holds, as the store has them."""

    def __init__(
        self, app: str, alert: Alert, to: tuple[str, ...], source: Source, known: Mapping[str, AlertState]
    ) -> None:
        self.alert, self.to, self.source = alert, to, source
        self._app, self._known = app, dict(known)
        self._timing = Timing(alert.lasting, alert.every)
        self.judged = 0
        self.blind = True
        self.error: str | None = None

    def judge(self, setting: Setting, now: int) -> bool:
        """Takes all keys one step on, and commits what changed; whether there is something to tell."""
        self.judged = now
        found = {each.keys: each for each in self.source.found(now, self._known)}
        new = [keys for keys, each in found.items() if each.holds and keys not in self._known]
        room = max(0, MOST_KEYS - len(self._known))
        after: dict[str, AlertState] = {}
        told: list[Told] = []
        for keys in [*self._known, *new[:room]]:
            before, here = self._known.get(keys), found.get(keys)
            then, due = step(self._timing, _state(before), here is not None and here.holds, now)
            if then is not None and here is not None:
                after[keys] = before if before is not None and due is None else _kept(self.alert.name, then, here)
            if due is not None:
                told.append(self._told(due, before, here, now))
        changed = [state for keys, state in after.items() if state is not self._known.get(keys)]
        over = [(self.alert.name, keys) for keys in self._known if keys not in after]
        if changed or over:
            dropped = setting.store.alerts.change(changed, over, told)
            for destination, count in dropped.items():
                setting.told(f"alerts: {destination}: {count} notices were given up, for too many wait for it")
        self._known = after
        self._note(setting, _too_many(self.alert) if len(new) > room else None)
        return bool(told)

    def _told(self, due: str, before: AlertState | None, here: Found | None, now: int) -> Told:
        """The notice that is due; of a key that is gone, what was last known of it is told."""
        facts = here.facts() if here is not None else orjson.loads(before.facts) if before is not None else {}
        since, times = (now, 0) if before is None else (before.since, before.times)
        what = Happened(due, facts, since, now, times + (due == FIRING), gone=here is None)
        rule, app = self.alert, self._app

        def body(number: int) -> str:
            return to_json(notice.content(app, rule, what, number)).decode()

        return Told(rule.name, due, body, self.to)

    def failed(self, setting: Setting, error: Exception) -> None:
        told = str(error) if isinstance(error, TarnbeckError) else f"{type(error).__name__}: {error}"
        self._note(setting, told)

    def _note(self, setting: Setting, error: str | None) -> None:
        if error != self.error:
            setting.store.alerts.note(self.alert.name, error)
            self.error = error


def _state(known: AlertState | None) -> State | None:
    return None if known is None else State(known.state, known.since, known.told, known.times)


def _kept(rule: str, then: State, here: Found) -> AlertState:
    return AlertState(rule, here.keys, then.state, then.since, then.told, then.times, to_json(here.facts()).decode())


def _too_many(rule: Alert) -> str:
    return (
        f"alert '{rule.name}': its condition holds for more than {MOST_KEYS:,} keys; the others are not told\n"
        "  choose a condition that fewer keys meet, or a view with fewer keys"
    )


class Alerts:
    """All rules of an application, and a courier for each queue."""

    def __init__(self, setting: Setting, app: App, first_pause: float = 1.0) -> None:
        self._setting, self._app = setting, app
        sends = {each: sends_to(setting, app, each) for rule in app.alerts.values() for each in rule.to}
        self._sends = {label: send for each in sends.values() for label, send in each.items()}
        self._to = {
            name: tuple(dict.fromkeys(label for each in rule.to for label in sends[each]))
            for name, rule in app.alerts.items()
        }
        self._couriers = {
            label: Courier(setting.store.alerts, label, send, setting.clock, setting.told, first_pause)
            for label, send in self._sends.items()
        }
        definitions = {name: orjson.dumps(rule.definition()).decode() for name, rule in app.alerts.items()}
        setting.store.alerts.declare(definitions, self._sends)
        known: dict[str, dict[str, AlertState]] = {}
        for state in setting.store.alerts.states():
            known.setdefault(state.rule, {})[state.keys] = state
        self._rules = [
            Rule(app.name, rule, self._to[name], source_of(setting.store, rule, setting.status), known.get(name, {}))
            for name, rule in app.alerts.items()
        ]
        self.error: str | None = None

    def run(self, stop: threading.Event) -> None:
        """Looks after the rules until told to stop; what couriers have in hand then may still arrive."""
        threads = [
            threading.Thread(target=courier.run, args=(stop,), name=f"courier-{number}", daemon=True)
            for number, courier in enumerate(self._couriers.values())
        ]
        for thread in threads:
            thread.start()
        while self._rules and not stop.wait(TICK):
            self.tick()
        stop.wait()
        for courier in self._couriers.values():
            courier.wake()
        # One that waits for a receiver is left alone: what it did not finish, the next start does.
        for thread in threads:
            thread.join(ENDS_WITHIN)

    def tick(self) -> None:
        """One look at everything; a rule that can't be looked after says so and stands in no other's way."""
        now = self._setting.clock()
        try:
            views = states(self._setting.store)
            due = [rule for rule in self._rules if self._look(rule, views, now)]
            told = [self._judge(rule, now) for rule in due]
            if any(told):
                for courier in self._couriers.values():
                    courier.wake()
            self.error = None
        except Exception as error:
            # A store that can't be read for a while must not end the watch; the status tells of it.
            self.error = f"{type(error).__name__}: {error}"

    def _look(self, rule: Rule, views: Mapping[str, ViewState], now: int) -> bool:
        """Whether there is something to judge: something new, or once a second what time alone may change."""
        try:
            looked = rule.source.look(views, now)
        except Exception as error:
            rule.failed(self._setting, error)
            rule.blind = True
            return False
        rule.blind = rule.blind and not looked
        return looked or (not rule.blind and now - rule.judged >= SECOND)

    def _judge(self, rule: Rule, now: int) -> bool:
        try:
            return rule.judge(self._setting, now)
        except Exception as error:
            rule.failed(self._setting, error)
            return False

    def test(self, name: str) -> list[dict[str, Any]]:
        """Sends a notice that only shows whether notices arrive; what became of it at each destination of a rule."""
        if name not in self._app.alerts:
            raise UsageError(unknown("alerts", "rule", name, self._app.alerts, f"app '{self._app.name}'"))
        rule = self._app.alerts[name]
        if not rule.to:
            raise UsageError(f"alert '{name}': it tells nobody\n  name destinations: to=[tb.webhook(…)]")
        content = notice.example(self._app.name, rule, self._setting.clock())
        found = [(label, tried(self._sends[label], content)[0]) for label in self._to[name]]
        return [{"destination": label, "sent": error is None, "error": error} for label, error in found]


def sends_to(setting: Setting, app: App, destination: Destination) -> dict[str, Send]:
    """How a destination is told, by the names of its queues.

    Each address of a mail has its own: when a server takes only some of them, the others alone are tried again.
    """
    if isinstance(destination, Webhook):
        return {destination.label: partial(webhook.send, destination)}
    if isinstance(destination, Email):
        several = len(destination.to) > 1
        return {
            f"{destination.label}: {address}" if several else destination.label: partial(
                mail.send, destination, address
            )
            for address in destination.to
        }
    return {destination.label: partial(stream.send, setting.senders, app.streams[destination.stream])}
