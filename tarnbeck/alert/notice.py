"""What is told of an alert: one JSON object, the same for every destination, and a text of it for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tarnbeck.alert.found import Facts
from tarnbeck.alert.state import TEST
from tarnbeck.plan.alert import Alert
from tarnbeck.serve.render import moment, to_json

Content = Mapping[str, Any]


@dataclass(frozen=True)
class Happened:
    """What there is to tell of a key: since when its condition held, how often that was told, if the key is `gone`."""

    state: str
    facts: Facts
    since: int
    now: int
    times: int = 1
    gone: bool = False


def content(app: str, rule: Alert, what: Happened, number: int) -> dict[str, Any]:
    """A notice; `id` tells it from all others, however often it is sent.

    `cut` says at which events the condition was found to hold, or no longer to hold, so that it can be recounted.
    """
    defined = rule.definition()
    return {
        "id": f"{app}-{rule.name}-{what.now}-{number}",
        "app": app,
        "rule": rule.name,
        "state": what.state,
        "on": defined["on"],
        "when": defined["when"],
        "since": moment(what.since),
        "at": moment(what.now),
        "times": what.times,
        "gone": what.gone,
        **what.facts,
    }


def example(app: str, rule: Alert, now: int) -> dict[str, Any]:
    """A notice that only shows whether notices arrive."""
    facts: Facts = {"keys": {}, "window": None, "values": {}, "cut": None}
    return content(app, rule, Happened(TEST, facts, now, now), 0)


def title(told: Content) -> str:
    """The notice in a few words.

    >>> title({"app": "house", "rule": "hot", "state": "firing", "keys": {"room": "attic"}, "gone": False})
    'firing: hot (room attic) in house'
    """
    keys = ", ".join(f"{name} {value}" for name, value in told["keys"].items())
    why = ", for nothing new came" if told["gone"] else ""
    return f"{told['state']}: {told['rule']}{f' ({keys})' if keys else ''} in {told['app']}{why}"


def text(told: Content) -> str:
    """The notice as lines for people."""
    window, cut = told["window"], told["cut"]
    lines = [title(told), "", f"condition: {told['when']} on {told['on']}", f"since:     {told['since']}"]
    lines += [f"window:    {_plain(window['start'])} to {_plain(window['end'])}"] if window else []
    lines += [f"{name}: {_plain(value)}" for name, value in told["values"].items()]
    lines += [f"cut:       {_plain(cut['offsets'])}"] if cut else []
    return "\n".join([*lines, f"id:        {told['id']}", ""])


def event(told: Content) -> dict[str, Any]:
    """The notice as an event of the stream that it goes to."""
    window = told["window"] or {}
    return {
        "time": told["at"],
        "id": told["id"],
        "rule": told["rule"],
        "state": told["state"],
        "keys": {name: None if value is None else _plain(value) for name, value in told["keys"].items()},
        "window_start": window.get("start"),
        "window_end": window.get("end"),
        "values": {name: None if value is None else _plain(value) for name, value in told["values"].items()},
        "cut": None if told["cut"] is None else _plain(told["cut"]),
        "since": told["since"],
        "text": title(told),
    }


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value).decode()
