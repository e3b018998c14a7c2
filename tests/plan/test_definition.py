"""A definition that is read back declares the same: stores, restarts and other machines know views by it."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import tarnbeck as tb
from tarnbeck.algebra.registry import AGGREGATES
from tarnbeck.plan.definition import identity
from tarnbeck.testing import run

START = datetime(2026, 1, 1, tzinfo=UTC)
EVENTS = [{"time": START + timedelta(seconds=n * n), "n": n, "d": n / 4, "s": str(n % 3)} for n in range(8)]
GIVEN: dict[str, dict[str, Any]] = {
    "histogram": {"edges": [1, 5]},
    "quantiles": {"shares": [0.5, 0.9]},
    "any": {"column": "n > 3"},
    "all": {"column": "n > 3"},
    "sample_events": {"k": 2, "of": ["n", "s"]},
}
"""What an aggregate must be given beside columns."""
OF_SETS = {"union", "intersection", "difference"}


def made(name: str, **where: str) -> Any:
    cls = AGGREGATES[name]
    needed = [each.name for each in fields(cls) if each.init and each.default is MISSING]
    return cls(**{**dict.fromkeys(needed, "n"), **GIVEN.get(name, {}), **where})


def declared(**select: Any) -> tb.App:
    app = tb.App("app")
    events = app.stream("events", "time timestamp, n bigint, d double, s string", time="time")
    app.view("view", events, by="s", select=select)
    return app


def check(app: tb.App) -> None:
    again = tb.App.of(json.loads(json.dumps(app.definition())))
    assert again.definition() == app.definition()
    assert identity(again.views["view"]) == identity(app.views["view"])
    assert run(again, EVENTS)["view"] == run(app, EVENTS)["view"]


@pytest.mark.parametrize("where", [{}, {"where": "d > 0.5"}], ids=["", "where"])
@pytest.mark.parametrize("name", sorted(AGGREGATES.keys() - OF_SETS))
def test_every_aggregate_is_read_back(name: str, where: dict[str, str]) -> None:
    check(declared(out=made(name, **where)))


@pytest.mark.parametrize("name", sorted(OF_SETS))
def test_sets_of_sets_are_read_back(name: str) -> None:
    both: Any = AGGREGATES[name]
    check(declared(a=tb.members("n"), b=tb.members("n", where="d > 0.5"), both=both("a", "b")))


@pytest.mark.parametrize("where", [None, "d > 0.5"])
def test_what_is_of_the_time_of_events_is_read_back(where: str | None) -> None:
    check(declared(trend=tb.trend("d", where=where), newest=tb.max("_time", where=where)))


def test_the_time_of_events_is_no_column_of_others() -> None:
    with pytest.raises(
        tb.TarnbeckError, match=r"unknown column 'event_time' .*\n  stream 'events' has: time, n, d, s$"
    ):
        declared(out=tb.max("event_time"))
