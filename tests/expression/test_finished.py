"""Expressions over finished values: exact in 38 digits, null beyond, and as strict as ever over columns of events."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest

import tarnbeck as tb
from tarnbeck.algebra.aggregate import Aggregate
from tarnbeck.errors import DeclarationError
from tarnbeck.expression import check, check_finished
from tarnbeck.schema import types
from tarnbeck.testing import run

SUMS = {"a": types.Decimal(38, 2), "b": types.Decimal(38, 4), "n": types.LONG}
ROW = {"a": Decimal("123456789012345678901234567890.12"), "b": Decimal("0.0001"), "n": 4}
MOST = Decimal("9" * 36 + ".99")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("b - a", Decimal("-123456789012345678901234567890.1199")),
        ("-a", Decimal("-123456789012345678901234567890.12")),
        ("abs(-a)", Decimal("123456789012345678901234567890.12")),
        ("a * 2", Decimal("246913578024691357802469135780.24")),
        ("a * n", Decimal("493827156049382715604938271560.48")),
        ("a % 7", Decimal(12345678901234567890123456789012 % 700).scaleb(-2)),
        ("a > 2 * b", True),
        ("coalesce(b, a)", Decimal("0.0001")),
        ("100 * b / n", 0.0025),
    ],
)
def test_it_is_exact(text: str, value: Any) -> None:
    assert check_finished(text, SUMS, place="here", owner="it").python()(ROW) == value


@pytest.mark.parametrize("text", ["a + a", "a * 2", "a * a", "a + b", "2 * a - a"])
def test_what_needs_more_than_38_digits_is_null(text: str) -> None:
    found = check_finished(text, SUMS, place="here", owner="it")
    assert found.python()({"a": MOST, "b": Decimal("0.0001"), "n": 1}) is None


@pytest.mark.parametrize("text", ["b - a", "-a", "a * 2", "a > b"])
def test_columns_of_events_stay_strict(text: str) -> None:
    with pytest.raises(DeclarationError, match="digits"):
        check(text, SUMS, place="here", owner="it")


@pytest.mark.parametrize("text", ["n + 1", "cast(a as decimal(18,2)) * 2", "a / b", "n * n", "a > 5"])
def test_what_was_allowed_before_means_the_same(text: str) -> None:
    strict, finished = (each(text, SUMS, place="here", owner="it") for each in (check, check_finished))
    assert (strict.sql, strict.type, strict.tree) == (finished.sql, finished.type, finished.tree)


def test_a_literal_and_a_scale_that_no_decimal_has_are_refused() -> None:
    for text in ("a > 0." + "1" * 39, "c * c"):
        with pytest.raises(DeclarationError, match="digits"):
            check_finished(text, {**SUMS, "c": types.Decimal(38, 20)}, place="here", owner="it")


def test_outputs_are_computed_from_exact_sums() -> None:
    app = tb.App("shop")
    orders = app.stream("orders", "time timestamp, price decimal(18,2), cost decimal(18,2)", time="time")
    select: dict[str, Aggregate | str] = {
        "price": tb.sum("price"),
        "cost": tb.sum("cost"),
        "n": tb.count(),
        "profit": "price - cost",
        "margin": "100 * (price - cost) / price",
        "loss": "-(price - cost)",
        "double": "price * 2",
    }
    app.view("total", orders, select=select)
    event = {"time": datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC), "price": Decimal(4), "cost": Decimal(3)}
    (row,) = run(app, [event, event]).rows("total")
    assert (row["profit"], row["margin"], row["loss"], row["double"]) == (2, 25.0, -2, 16)
