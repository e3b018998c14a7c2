"""Every aggregate keeps the laws over every type it takes, and equals a naive recount."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

import tarnbeck as tb
from tarnbeck.algebra.aggregate import Aggregate, Arguments
from tarnbeck.algebra.moments import Spread
from tarnbeck.algebra.registry import AGGREGATES
from tarnbeck.algebra.state import Edge, ExactSum, Raw, State
from tarnbeck.schema.types import Physical
from tarnbeck.testing import laws, run
from tarnbeck.window.window import Window

NUMBERS = ("int", "bigint", "double", "decimal(18,2)", "decimal(30,10)")
OF_NUMBERS = [
    tb.sum("value"),
    tb.mean("value"),
    tb.variance("value"),
    tb.stddev("value", population=True),
    tb.quantile("value", 0.9),
    tb.quantiles("value", [0.0, 0.5, 1.0], size=8),
    tb.histogram("value", [-1e6, -1, 0, 2.5, 1e6]),
    tb.skewness("value"),
    tb.kurtosis("value"),
    tb.geometric_mean("value"),
    tb.rate("value"),
    tb.weighted_mean("value", "other"),
    tb.covariance("value", "other"),
    tb.correlation("value", "other"),
    tb.trend("value"),
    tb.intercept("value", "other"),
]
OF_ANYTHING = [
    tb.count("value"),
    tb.min("value"),
    tb.max("value"),
    tb.first("value"),
    tb.last("value"),
    tb.first("value", 2),
    tb.last("value", 2),
    tb.distinct("value"),
    tb.distinct("value", most=2),
    tb.uniques("value"),
    tb.top_k("value", 2),
    tb.bottom_k("value", 2),
    tb.frequent("value", 2, size=3),
    tb.sample("value", 2),
    tb.sum("1", where="value is not null"),
    tb.values("value", most=2),
    tb.mode("value"),
    tb.mode("value", most=2),
    tb.any("value is null"),
    tb.all("value is null"),
    tb.rate(where="value is not null"),
    tb.min_by("value", "other"),
    tb.max_by("value", "other"),
    tb.collect("value", most=2),
    tb.members("value", size=5),
    tb.frequency("value", error=0.1),
    tb.seen("value", 100, 0.1),
    tb.sample_events(2, ["value", "other", "key"]),
]
OF_WHOLE_NUMBERS = [tb.bit_and("value"), tb.bit_or("value"), tb.bit_xor("value")]
CASES = [
    *((aggregate, name) for aggregate in OF_NUMBERS for name in NUMBERS),
    *((aggregate, name) for aggregate in OF_WHOLE_NUMBERS for name in ("int", "bigint")),
    *((aggregate, name) for aggregate in OF_ANYTHING for name in laws.VALUES),
]


def named(aggregate: Aggregate, column_type: str) -> str:
    options = "".join(f"-{value}" for value in aggregate.options().values())
    return f"{aggregate.name}{options}-{column_type}"


HARDEST = "decimal(18,2)"
"""The type whose arithmetic goes wrong first is tried with every check, the others with all tests only."""


@pytest.mark.parametrize(
    "aggregate", [pytest.param(each, id=named(each, name)) for each, name in CASES if name == HARDEST]
)
def test_every_aggregate_keeps_the_laws_at_first_sight(aggregate: Aggregate) -> None:
    laws.check(aggregate, HARDEST, examples=4)


@pytest.mark.long
@pytest.mark.parametrize(("aggregate", "column_type"), [pytest.param(*each, id=named(*each)) for each in CASES])
def test_every_aggregate_keeps_the_laws(aggregate: Aggregate, column_type: str) -> None:
    laws.check(aggregate, column_type, examples=20 if column_type == HARDEST else 8)


def test_every_aggregate_is_tried() -> None:
    of_others = {"union", "intersection", "difference"}
    assert {aggregate.name for aggregate, _ in CASES} == AGGREGATES.keys() - of_others


@pytest.mark.parametrize(
    "window",
    [
        tb.all_time(),
        tb.sliding("1 minute", every="7 seconds"),
        tb.session("20 seconds"),
        tb.tumbling("7 seconds"),
        tb.tumbling("1 week"),
        tb.rollup("second", "minute", "hour", "day", "month", "year"),
        tb.rollup("hour", "day", "year", zone="Australia/Lord_Howe"),
    ],
    ids=lambda window: type(window).__name__,
)
@pytest.mark.parametrize(
    "aggregate",
    [
        tb.first("value"),
        pytest.param(tb.variance("value"), marks=pytest.mark.long),
        pytest.param(tb.sample("value", 2), marks=pytest.mark.long),
    ],
    ids=lambda aggregate: aggregate.name,
)
def test_every_window_keeps_the_laws(window: Window, aggregate: Aggregate) -> None:
    laws.check(aggregate, HARDEST, window=window, examples=10)


@dataclass(frozen=True)
class Forgetful(ExactSum):
    """A planted mistake: its merge forgets one side."""

    def merge(self, a: tuple[Raw, ...], b: tuple[Raw, ...]) -> tuple[Raw, ...]:
        return a


@dataclass(frozen=True)
class ForgetfulSum(tb.sum):
    def states(self, arguments: Arguments) -> tuple[State, ...]:
        return (Forgetful(Physical.INT),)


@dataclass(frozen=True)
class Careless(Edge):
    """A planted mistake: whichever span is merged last counts as the later one."""

    def merge(self, a: tuple[Raw, ...], b: tuple[Raw, ...]) -> tuple[Raw, ...]:
        return a if b[0] is None else b


@dataclass(frozen=True)
class CarelessLast(tb.last):
    def states(self, arguments: Arguments) -> tuple[State, ...]:
        return (Careless(Physical.INT, first=False),)


@pytest.mark.parametrize("broken", [ForgetfulSum("value"), CarelessLast("value")], ids=lambda a: type(a).__name__)
def test_the_suite_catches_planted_violations(broken: Aggregate) -> None:
    with pytest.raises(AssertionError, match=r"changed the state|gave other rows"):
        laws.check(broken, "bigint")


@dataclass(frozen=True)
class Partly(State):
    """A planted mistake in a state of several fields: merging keeps one of them as it was on one side."""

    forgets: int

    def merge(self, a: tuple[Raw, ...], b: tuple[Raw, ...]) -> tuple[Raw, ...]:
        merged = list(super().merge(a, b))  # type: ignore[safe-super]
        if None not in (*a, *b):
            merged[self.forgets] = a[self.forgets]
        return tuple(merged)


@dataclass(frozen=True)
class PartlySpread(Partly, Spread):
    pass


@dataclass(frozen=True)
class PartlyVariance(tb.variance):
    forgets: int = 0

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        return (PartlySpread(Physical.REAL, self.forgets),)


class PartlyRange(tb.Custom):
    """The same mistake in a class of a user's own, whose fields are packed into one: the greatest value."""

    state = "low double, high double"
    returns = "double"

    def prepare(self, value: float) -> tuple[float, float]:
        return value, value

    def merge(self, a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
        return min(a[0], b[0]), a[1]

    def finish(self, state: tuple[float, float]) -> float:
        return state[1] - state[0]


PARTLY = [*(PartlyVariance("value", forgets=field) for field in range(3)), PartlyRange("value")]


@pytest.mark.long
@pytest.mark.parametrize("broken", PARTLY, ids=lambda a: f"{type(a).__name__}-{getattr(a, 'forgets', 1)}")
def test_the_suite_catches_one_field_that_is_forgotten(broken: Aggregate | tb.Custom) -> None:
    with pytest.raises(AssertionError, match="changed the state"):
        laws.check(broken, "double")


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
        "first_two": [Decimal(cents) / 100 for cents in prices[:2]] or None,
        "last_two": [Decimal(cents) / 100 for cents in prices[-2:]] or None,
        "different": len(set(prices)),
        "highest": [Decimal(cents) / 100 for cents in sorted(prices, reverse=True)[:3]] or None,
        "lowest": [Decimal(cents) / 100 for cents in sorted(prices)[:3]] or None,
        "gains": sum(1 for cents in prices if cents > 0),
        "seen": [Decimal(cents) / 100 for cents in sorted(set(prices))],
        "usual": Decimal(min(set(prices), key=lambda cents: (-prices.count(cents), cents))) / 100 if prices else None,
        "between": [
            sum(1 for cents in prices if cents < 0),
            sum(1 for cents in prices if 0 <= cents < 12_345),
            sum(1 for cents in prices if cents >= 12_345),
        ],
        "ever_high": any(cents > 100 for cents in prices) if prices else None,
        "always_high": all(cents > 100 for cents in prices) if prices else None,
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
            "first_two": tb.first("price", k=2),
            "last_two": tb.last("price", k=2),
            "different": tb.distinct("price"),
            "highest": tb.top_k("price", 3),
            "lowest": tb.bottom_k("price", 3),
            "gains": tb.count(where="price > 0"),
            "seen": tb.values("price"),
            "usual": tb.mode("price"),
            "between": tb.histogram("price", [0, 123.45]),
            "ever_high": tb.any("price > 1"),
            "always_high": tb.all("price > 1"),
            "spread": tb.variance("price"),
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
    exact = [Fraction(cents, 100) for _, cents in ticks if cents is not None]
    spread = row.pop("spread")
    assert spread == (pytest.approx(statistics.variance(exact), rel=1e-9, abs=1e-9) if len(exact) > 1 else None)
    assert row == naive(ticks)
