"""What there is to tell of alerts, as plain data: rules with their states, and what was told of them to whom."""

from __future__ import annotations

import dataclasses
from typing import Any

import orjson

from tarnbeck.errors import UsageError
from tarnbeck.serve.render import moment
from tarnbeck.store.protocol import Store
from tarnbeck.store.state import AlertState, Delivery, Notice

Facts = dict[str, Any]
TEST = "test alert"
"""The job that sends a notice which only shows whether notices arrive."""
LIMIT = 100
MOST = 1_000


def limit(given: str | None) -> int:
    """How many notices are asked for."""
    if given is None:
        return LIMIT
    if not given.isdecimal() or not 0 <= int(given) <= MOST:
        raise UsageError(f"alerts: bad limit {given!r}\n  expected 0 to {MOST:,} notices")
    return int(given)


def facts(store: Store, most: int = LIMIT) -> Facts:
    """All rules with the keys that are pending or firing, and so many notices, the newest first."""
    known: dict[str, list[AlertState]] = {}
    for state in store.alerts.states():
        known.setdefault(state.rule, []).append(state)
    rules = [
        {
            "rule": rule.rule,
            "state": state_of(known.get(rule.rule, [])),
            **orjson.loads(rule.definition),
            "error": rule.error,
            "keys": [_key(state) for state in known.get(rule.rule, [])],
        }
        for rule in store.alerts.rules()
    ]
    return {"rules": rules, "history": [_notice(notice) for notice in store.alerts.notices(most)]}


def state_of(keys: list[AlertState]) -> str:
    """Of a rule: firing if any key is, else pending if any is, else inactive."""
    found = {state.state for state in keys}
    return next((state for state in ("firing", "pending") if state in found), "inactive")


def _key(state: AlertState) -> Facts:
    told = None if state.told is None else moment(state.told)
    return {
        "state": state.state,
        "since": moment(state.since),
        "told": told,
        "times": state.times,
        **orjson.loads(state.facts),
    }


def _notice(notice: Notice) -> Facts:
    return orjson.loads(notice.body) | {"deliveries": [_delivery(each) for each in notice.deliveries]}  # type: ignore[no-any-return]


def _delivery(delivery: Delivery) -> Facts:
    found = dataclasses.asdict(delivery)
    return {name: found[name] for name in ("destination", "state", "tries", "error")} | {
        "at": None if delivery.at is None else moment(delivery.at)
    }
