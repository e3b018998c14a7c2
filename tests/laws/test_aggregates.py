"""Every aggregate keeps the laws over every type it takes, and equals a naive recount."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

import tarnbeck as tb
from tarnbeck.algebra.aggregate import Aggregate
from tarnbeck.algebra.state import Edge, ExactSum, Raw, State
from tarnbeck.schema.types import Physical, ScalarType
from tarnbeck.testing import laws, run
from tarnbeck.window.window import Window

NUMBERS = ("int", "bigint", "double", "decimal(18,2)", "decimal(30,10)")
CASES: list[tuple[type[Aggregate], str]] = [
    *((aggregate, name) for aggregate in (tb.sum, tb.mean) for name in NUMBERS),
    *((aggregate, name) for aggregate in (tb.count, tb.min, tb.max, tb.first, tb.last) for name in laws.VALUES),
]


def case(aggregate: type[Aggregate], column_type: str) -> Any:
    """The types whose arithmetic is the hardest are tried with every check, the others with all tests only."""
    marks = () if column_type in ("double", "decimal(18,2)") else pytest.mark.long
    return pytest.param(aggregate, column_type, id=f"{aggregate.name}-{column_type}", marks=marks)


@pytest.mark.parametrize(("aggregate", "column_type"), [case(*each) for each in CASES])
def test_every_aggregate_keeps_the_laws(aggregate: Callable[[str], Aggregate], column_type: str) -> None:
    laws.check(aggregate("value"), column_type, examples=25)


@pytest.mark.parametrize(
    "window",
    [
        tb.all_time(),
        tb.tumbling("7 seconds"),
        tb.tumbling("1 week"),
        tb.rollup("second", "minute", "hour", "day", "month", "year"),
        tb.rollup("hour", "day", "year", zone="Australia/Lord_Howe"),
    ],
    ids=lambda window: type(window).__name__,
)
def test_every_window_keeps_the_laws(window: Window) -> None:
    laws.check(tb.first("value"), "decimal(18,2)", window=window, examples=25)


@dataclass(frozen=True)
class Forgetful(ExactSum):
    """A planted mistake: its merge forgets one side."""

    def merge(self, a: tuple[Raw, ...], b: tuple[Raw, ...]) -> tuple[Raw, ...]:
        return a


@dataclass(frozen=True)
class ForgetfulSum(tb.sum):
    def states(self, argument: ScalarType | None) -> tuple[State, ...]:
        return (Forgetful(Physical.INT),)


@dataclass(frozen=True)
class Careless(Edge):
    """A planted mistake: whichever span is merged last counts as the later one."""

    def merge(self, a: tuple[Raw, ...], b: tuple[Raw, ...]) -> tuple[Raw, ...]:
        return a if b[0] is None else b


@dataclass(frozen=True)
class CarelessLast(tb.last):
    def states(self, argument: ScalarType | None) -> tuple[State, ...]:
        return (Careless(Physical.INT, first=False),)


@pytest.mark.parametrize("broken", [ForgetfulSum("value"), CarelessLast("value")], ids=lambda a: type(a).__name__)
def test_the_suite_catches_planted_violations(broken: Aggregate) -> None:
    with pytest.raises(AssertionError, match=r"changed the state|gave other rows"):
        laws.check(broken, "bigint")


Ticks = list[tuple[int, int | None]]
"""Second of the minute and price in cents, in the order of the log."""


def naive(ticks: Ticks) -> dict[str, Any]:
    """What anyone would write down with pencil and paper."""
    priced = sorted(((second, place, cents) for place, (second, cents) in enumerate(ticks) if cents is not None))
    prices = [cents for _, _, cents in priced]
    return {
        "n": len(ticks),
        "priced": len(prices),
        "total": Decimal(sum(prices)) / 100 if prices else None,
        "mean": float(Fraction(sum(prices), 100 * len(prices))) if prices else None,
        "low": Decimal(min(prices)) / 100 if prices else None,
        "high": Decimal(max(prices)) / 100 if prices else None,
        "opening": Decimal(priced[0][2]) / 100 if prices else None,
        "closing": Decimal(priced[-1][2]) / 100 if prices else None,
    }


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 59), st.none() | st.integers(-(10**9), 10**9)), min_size=1, max_size=30))
def test_the_aggregates_equal_a_naive_recount(ticks: Ticks) -> None:
    app = tb.App("naive")
    prices = app.stream("prices", "time timestamp, price decimal(18,2)", time="time")
    app.view(
        "minutes",
        prices,
        window=tb.tumbling("1 minute"),
        select={
            "n": tb.count(),
            "priced": tb.count("price"),
            "total": tb.sum("price"),
            "mean": tb.mean("price"),
            "low": tb.min("price"),
            "high": tb.max("price"),
            "opening": tb.first("price"),
            "closing": tb.last("price"),
        },
    )
    start = datetime(2026, 1, 1, tzinfo=UTC)
    events = [
        {"time": start.replace(second=second), "price": None if cents is None else Decimal(cents) / 100}
        for second, cents in ticks
    ]
    (row,) = run(app, events)["minutes"]
    assert row.pop("start") == start
    assert row.pop("end") == start.replace(minute=1)
    assert row == naive(ticks)
