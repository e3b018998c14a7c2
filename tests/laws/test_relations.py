"""Aggregates of two columns, of shapes and of bits equal a naive recount in exact fractions."""

from __future__ import annotations

import functools
import math
import operator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

import tarnbeck as tb
from tarnbeck.testing import run

START = datetime(2026, 1, 1, tzinfo=UTC)
Rows = list[tuple[int, int | None, int | None]]
"""Second of the minute, price in cents and volume of each event, in the order of the log."""


def answer(rows: Rows) -> dict[str, Any]:
    app = tb.App("naive")
    trades = app.stream("trades", "time timestamp, price decimal(18,2), volume bigint", time="time")
    select = {
        "busiest": tb.max_by("price", "volume"),
        "calmest": tb.min_by("price", "volume"),
        "vwap": tb.weighted_mean("price", "volume"),
        "together": tb.covariance("price", "volume"),
        "related": tb.correlation("price", "volume"),
        "per_second": tb.trend("price"),
        "slope": tb.trend("price", "volume"),
        "base": tb.intercept("price", "volume"),
        "lean": tb.skewness("volume"),
        "tails": tb.kurtosis("volume"),
        "growth": tb.geometric_mean("price"),
        "rate": tb.rate(),
        "flow": tb.rate("price"),
        "all_bits": tb.bit_and("volume"),
        "some_bits": tb.bit_or("volume"),
        "odd_bits": tb.bit_xor("volume"),
        "prices": tb.collect("price", most=20),
    }
    app.view("all", trades, select=select)
    events = [
        {
            "time": START + timedelta(seconds=second),
            "price": None if cents is None else Decimal(cents) / 100,
            "volume": volume,
        }
        for second, cents, volume in rows
    ]
    (row,) = run(app, events)["all"]
    return row


def about(value: Fraction | float | None, size: float = 1.0) -> Any:
    return None if value is None else pytest.approx(float(value), rel=1e-7, abs=1e-7 * size)


def mean(values: list[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def fit(pairs: list[tuple[Fraction, Fraction]]) -> tuple[Fraction, Fraction] | None:
    """Slope and intercept of the line of least squares through (y, x)."""
    y, x = mean([y for y, _ in pairs]), mean([x for _, x in pairs])
    across = sum((b - x) ** 2 for _, b in pairs)
    if not across:
        return None
    slope = sum((a - y) * (b - x) for a, b in pairs) / across
    return slope, y - slope * x


ROWS = st.lists(
    st.tuples(st.integers(0, 59), st.none() | st.integers(-(10**6), 10**6), st.none() | st.integers(-1000, 1000)),
    min_size=1,
    max_size=25,
)


@settings(deadline=None)
@given(ROWS)
def test_what_goes_with_an_extreme_and_how_numbers_follow_each_other(rows: Rows) -> None:
    row = answer(rows)
    both = [(s, place, Fraction(c, 100), Fraction(v)) for place, (s, c, v) in enumerate(rows) if None not in (c, v)]  # type: ignore[arg-type]
    if both:
        assert row["busiest"] == Decimal(int(max(both, key=lambda e: (e[3], e[:2]))[2] * 100)) / 100
        assert row["calmest"] == Decimal(int(min(both, key=lambda e: (e[3], e[:2]))[2] * 100)) / 100
        weights = sum(volume for *_, volume in both)
        weighted = sum(price * volume for *_, price, volume in both)
        assert row["vwap"] == about(weighted / weights if weights else None, 1e4)
    else:
        assert row["busiest"] is row["calmest"] is row["vwap"] is None
    line = fit([(price, volume) for *_, price, volume in both]) if both else None
    assert row["slope"] == (about(line[0], 1e3) if line else None)
    assert row["base"] == (about(line[1], 1e4) if line else None)
    timed = [(Fraction(c, 100), Fraction(s)) for s, c, _ in rows if c is not None]
    line = fit(timed) if timed else None
    assert row["per_second"] == (about(line[0], 1e3) if line else None)
    if len(both) > 1:
        y, x = mean([price for *_, price, _ in both]), mean([volume for *_, volume in both])
        product = sum((price - y) * (volume - x) for *_, price, volume in both)
        assert row["together"] == about(product / (len(both) - 1), 1e7)
        squares = math.sqrt(sum((p - y) ** 2 for *_, p, _ in both)) * math.sqrt(sum((v - x) ** 2 for *_, v in both))
        assert row["related"] == (about(float(product) / squares) if squares else None)


@settings(deadline=None)
@given(ROWS)
def test_shapes_rates_bits_and_lists(rows: Rows) -> None:
    row = answer(rows)
    volumes = [volume for *_, volume in rows if volume is not None]
    if len(set(volumes)) > 1:
        middle = mean([Fraction(volume) for volume in volumes])
        second, third, fourth = (mean([(volume - middle) ** power for volume in volumes]) for power in (2, 3, 4))
        assert row["lean"] == about(float(third) / float(second) ** 1.5)
        assert row["tails"] == about(float(fourth / second**2) - 3)
    else:
        assert row["lean"] is row["tails"] is None
    bits = (("all_bits", operator.and_), ("some_bits", operator.or_), ("odd_bits", operator.xor))
    for name, combine in bits:
        assert row[name] == (functools.reduce(combine, volumes) if volumes else None)
    priced = sorted((second, place, cents) for place, (second, cents, _) in enumerate(rows) if cents is not None)
    seconds = [second for second, *_ in rows]
    between = max(seconds) - min(seconds)
    assert row["rate"] == (about((len(rows) - 1) / between) if between else None)
    lasted = priced[-1][0] - priced[0][0] if priced else 0
    assert row["flow"] == (about(sum(c for *_, c in priced[1:]) / 100 / lasted, 1e4) if lasted else None)
    found = [cents for *_, cents in priced]
    assert row["prices"] == ([Decimal(cents) / 100 for cents in found] if len(found) <= 20 else None)
    if not found or min(found) < 0:
        assert row["growth"] is None
    elif min(found) == 0:
        assert row["growth"] == 0
    else:
        assert row["growth"] == about(math.exp(sum(math.log(cents / 100) for cents in found) / len(found)))


def test_numbers_far_from_zero_keep_the_digits_that_matter() -> None:
    app = tb.App("far")
    trades = app.stream("trades", "time timestamp, x double, y double", time="time")
    select = {"lean": tb.skewness("x"), "related": tb.correlation("x", "y"), "spread": tb.variance("x")}
    app.view("all", trades, select=select)
    far = [(1e9 + value, -1e9 + 2 * value) for value in (0.0, 1.0, 2.0, 3.0, 10.0)]
    (row,) = run(app, [{"time": START, "x": x, "y": y} for x, y in far])["all"]
    assert row == {
        "lean": pytest.approx(53.856 / 12.56**1.5),
        "related": pytest.approx(1.0),
        "spread": pytest.approx(15.7),
    }
