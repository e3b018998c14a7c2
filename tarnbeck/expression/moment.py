"""Times and dates: everything in UTC, weeks begin on Monday, dayofweek counts from Sunday = 1."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from tarnbeck.expression.operation import Operation, plain

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_TRUNCATED: dict[str, Callable[[datetime], datetime]] = {
    "second": lambda t: t.replace(microsecond=0),
    "minute": lambda t: t.replace(second=0, microsecond=0),
    "hour": lambda t: t.replace(minute=0, second=0, microsecond=0),
    "day": lambda t: _midnight(t.year, t.month, t.day),
    "week": lambda t: _midnight(t.year, t.month, t.day) - timedelta(days=t.weekday()),
    "month": lambda t: _midnight(t.year, t.month, 1),
    "quarter": lambda t: _midnight(t.year, t.month - (t.month - 1) % 3, 1),
    "year": lambda t: _midnight(t.year, 1, 1),
}

UNITS = tuple(_TRUNCATED)


def _midnight(year: int, month: int, day: int) -> datetime:
    return datetime(year, month, day, tzinfo=UTC)


def micros(moment: datetime) -> int:
    """Microseconds since 1970, rounded down by nature: there is nothing finer."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def _part(function: Callable[[Any], int], name: str) -> Operation:
    return Operation(plain(function), f"CAST({name}({{0}}) AS BIGINT)", f"{name}({{0}})")


OPERATIONS = {
    "year": _part(lambda t: t.year, "year"),
    "month": _part(lambda t: t.month, "month"),
    "day": _part(lambda t: t.day, "day"),
    "hour": _part(lambda t: t.hour, "hour"),
    "minute": _part(lambda t: t.minute, "minute"),
    "second": _part(lambda t: t.second, "second"),
    "dayofweek": Operation(
        plain(lambda t: t.isoweekday() % 7 + 1), "CAST(dayofweek({0}) AS BIGINT)", "(dayofweek({0}) + 1)"
    ),
    "date_trunc": Operation(plain(lambda unit, t: _TRUNCATED[unit](t)), "date_trunc({0}, {1})", "date_trunc({0}, {1})"),
    # DuckDB's epoch functions round towards zero, so times before 1970 are first rounded down.
    "unix_seconds": Operation(
        plain(lambda t: micros(t) // 1_000_000), "unix_seconds({0})", "(epoch_us(date_trunc('second', {0})) // 1000000)"
    ),
    "unix_millis": Operation(
        plain(lambda t: micros(t) // 1000), "unix_millis({0})", "(epoch_us(date_trunc('millisecond', {0})) // 1000)"
    ),
    "unix_micros": Operation(plain(micros), "unix_micros({0})", "epoch_us({0})"),
}
