"""`tarnbeck alerts`: the rules, for which keys they hold, and what was told to whom."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from tarnbeck.cli import jobs, show
from tarnbeck.cli.options import FOLDER, Folder, Json
from tarnbeck.cli.place import store_of
from tarnbeck.errors import NotReady, UsageError

RULES = ("rule", "state", "keys", "on", "when", "lasting", "to", "error")
HOLDS = ("rule", "state", "keys", "since", "values")
HISTORY = ("at", "rule", "state", "keys", "values", "told")


def alerts(
    limit: Annotated[int, typer.Option("--limit", min=0, max=1000, help="How many notices to show.")] = 20,
    test: Annotated[str | None, typer.Option("--test", metavar="RULE", help="Send a test notice of a rule.")] = None,
    json: Json = False,
    folder: Folder = FOLDER,
) -> None:
    """Show alerts: rules, for which keys they hold, and what was told to whom.

    With --test, a notice with the state "test" goes to all destinations of a rule, and what became of it is shown.
    """
    if test is not None:
        _test(folder, test, json)
        return
    from tarnbeck.serve.alerts import facts

    with store_of(folder) as store:
        found = facts(store, limit)
    if json:
        show.say(show.as_json(found))
        return
    if not found["rules"]:
        show.say("no alerts are declared: app.alert(…)")
        return
    show.rows(RULES, _rules(found["rules"]))
    if any(rule["keys"] for rule in found["rules"]):
        show.rows(HOLDS, _holding(found["rules"]))
    if found["history"]:
        show.rows(HISTORY, _history(found["history"]))


def _rules(rules: list[dict[str, Any]]) -> Iterator[tuple[Any, ...]]:
    for rule in rules:
        error = None if rule["error"] is None else rule["error"].splitlines()[0]
        told = ", ".join(rule["to"]) or None
        where = rule["on"] if rule["per"] is None else f"{rule['on']} per {rule['per']}"
        yield rule["rule"], rule["state"], len(rule["keys"]), where, rule["when"], rule["lasting"], told, error


def _holding(rules: list[dict[str, Any]]) -> Iterator[tuple[Any, ...]]:
    for rule in rules:
        for key in rule["keys"]:
            yield rule["rule"], key["state"], _pairs(key["keys"]), _moment(key["since"]), _pairs(key["values"])


def _history(notices: list[dict[str, Any]]) -> Iterator[tuple[Any, ...]]:
    for notice in notices:
        what = _pairs(notice["keys"]), _pairs(notice["values"]), _told(notice["deliveries"])
        yield _moment(notice["at"]), notice["rule"], notice["state"], *what


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(microsecond=0)


def _told(deliveries: list[dict[str, Any]]) -> str:
    """What became of a notice; of what did not arrive, where and why.

    >>> _told([{"destination": "stream alerts", "state": "sent", "tries": 1, "error": None}])
    '1 sent'
    >>> _told([{"destination": "webhook a.b", "state": "waiting", "tries": 3, "error": "it answered 503"}])
    'webhook a.b: waiting, 3 tries, it answered 503'
    """
    sent = sum(each["state"] == "sent" for each in deliveries)
    others = [_missed(each) for each in deliveries if each["state"] != "sent"]
    return "; ".join([*([f"{sent} sent"] if sent else []), *others])


def _missed(delivery: dict[str, Any]) -> str:
    tries = [f"{delivery['tries']} tries"] if delivery["tries"] > 1 else []
    error = [delivery["error"].splitlines()[0]] if delivery["error"] else []
    return f"{delivery['destination']}: {', '.join([delivery['state'], *tries, *error])}"


def _pairs(found: dict[str, Any]) -> str:
    return ", ".join(f"{name} {show.plain(value)}" for name, value in found.items() if value is not None)


def _test(folder: Path, rule: str, json: bool) -> None:
    from tarnbeck.node.running import running
    from tarnbeck.serve.alerts import TEST

    if running(folder) is None:
        raise UsageError(f"no app runs in '{folder}' that could send notices\n  start it: tarnbeck up APP.py")
    told = jobs.run(folder, {"do": TEST, "rule": rule})["told"]
    if json:
        show.say(show.as_json({"told": told}))
    else:
        show.rows(("destination", "sent", "error"), [list(each.values()) for each in told])
    missed = [each["destination"] for each in told if not each["sent"]]
    if missed:
        raise NotReady(f"alerts: the test notice did not arrive at: {', '.join(missed)}")
