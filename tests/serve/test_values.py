"""Keys and ranges as people write them."""

from __future__ import annotations

import datetime
from decimal import Decimal as Number
from typing import Any

import pytest

from tarnbeck.errors import UsageError
from tarnbeck.schema import types
from tarnbeck.schema.types import Decimal, ScalarType
from tarnbeck.serve import values
from tarnbeck.serve.moment import resolve

GOOD: list[tuple[Any, ScalarType, Any]] = [
    ("EUR", types.STRING, "EUR"),
    ("", types.STRING, ""),
    (None, types.STRING, None),
    ("5", types.INT, 5),
    (-5, types.LONG, -5),
    ("true", types.BOOL, 1),
    ("False", types.BOOL, 0),
    (True, types.BOOL, 1),
    ("1.5", types.DOUBLE, 1.5),
    (2, types.DOUBLE, 2.0),
    ("12.5", Decimal(18, 2), 1250),
    (Number("1E+2"), Decimal(18, 2), 10000),
    ("9" * 36 + ".99", Decimal(38, 2), int("9" * 38)),
    ("1970-01-01T01:00:00+01:00", types.TIMESTAMP, 0),
    ("1970-01-01T00:00:01Z", types.TIMESTAMP, 1_000_000),
    (datetime.datetime(1970, 1, 2, tzinfo=datetime.UTC), types.TIMESTAMP, 86_400_000_000),
    ("1970-01-31", types.DATE, 30),
    (datetime.date(1970, 1, 31), types.DATE, 30),
    ("AAE=", types.BINARY, b"\x00\x01"),
    (b"\x00", types.BINARY, b"\x00"),
]

BAD: list[tuple[Any, ScalarType]] = [
    (5, types.STRING),
    ("x", types.INT),
    ("1.0", types.INT),
    (True, types.INT),
    (2**31, types.INT),
    (str(2**63), types.LONG),
    ("yes", types.BOOL),
    (1, types.BOOL),
    ("nan", types.DOUBLE),
    ("1.234", Decimal(18, 2)),
    ("1000", Decimal(5, 2)),
    ("NaN", Decimal(5, 2)),
    (1.5, Decimal(5, 2)),
    ("noon", types.TIMESTAMP),
    (7, types.TIMESTAMP),
    ("2026-02-30", types.DATE),
    (datetime.datetime(2026, 1, 1), types.DATE),
    ("a", types.BINARY),
    (5, types.BINARY),
]


@pytest.mark.parametrize(("given", "type_", "raw"), GOOD)
def test_a_value_or_its_text_becomes_raw(given: Any, type_: ScalarType, raw: Any) -> None:
    assert values.key(given, type_, "here") == raw


@pytest.mark.parametrize(("given", "type_", "raw"), [each for each in GOOD if each[0] is not None])
def test_the_text_of_a_value_is_read_back(given: Any, type_: ScalarType, raw: Any) -> None:
    assert values.key(values.text(given), type_, "here") == raw


@pytest.mark.parametrize(("given", "type_"), BAD)
def test_a_value_that_does_not_fit_is_refused_with_its_place(given: Any, type_: ScalarType) -> None:
    with pytest.raises(UsageError, match=r"^here: expected "):
        values.key(given, type_, "here")


HOUR = 3_600_000_000


def test_last_counts_back_from_now_and_has_no_end() -> None:
    assert resolve("1h", None, None, 5 * HOUR) == (4 * HOUR, None)


def test_last_counts_back_from_until_when_given() -> None:
    assert resolve("1h", None, "1970-01-01T03:00Z", 5 * HOUR) == (2 * HOUR, 3 * HOUR)


def test_since_and_until_are_read_in_utc_unless_they_say_otherwise() -> None:
    assert resolve(None, "1970-01-01T01:00", "1970-01-01T03:00+01:00", 0) == (HOUR, 2 * HOUR)
    assert resolve(None, None, None, 0) == (None, None)


@pytest.mark.parametrize(
    ("last", "since", "until"),
    [
        ("1h", "1970-01-01", None),
        ("soon", None, None),
        (None, "yesterday", None),
        (None, "1970-01-02", "1970-01-02"),
        (None, "0001-01-01", None),
        (None, None, "9999-12-31"),
    ],
)
def test_a_bad_range_is_refused(last: str | None, since: str | None, until: str | None) -> None:
    with pytest.raises(UsageError):
        resolve(last, since, until, HOUR)
