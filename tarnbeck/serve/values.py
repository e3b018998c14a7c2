"""Values of keys as people write them: from Python or text to the raw form that stores compare."""

from __future__ import annotations

import base64
import datetime
import decimal
import math
from collections.abc import Callable, Mapping
from typing import Any

from tarnbeck.algebra.aggregate import raw
from tarnbeck.algebra.state import Raw
from tarnbeck.errors import UsageError
from tarnbeck.schema import types
from tarnbeck.schema.types import Decimal, ScalarType, Type
from tarnbeck.serve.moment import micros

_EXACT = decimal.Context(prec=60, traps=[decimal.Inexact, decimal.InvalidOperation])


def key(value: Any, type_: ScalarType, place: str) -> Raw:
    """The raw form of a key's value, given as itself or as text; null is null for every type.

    >>> key("5", types.INT, "view 'v'"), key("1.50", Decimal(18, 2), "view 'v'"), key("true", types.BOOL, "view 'v'")
    (5, 150, 1)
    """
    if value is None:
        return None
    try:
        return _decimal(value, type_) if isinstance(type_, Decimal) else _READ[type_](value)
    except (ValueError, TypeError, OverflowError, decimal.DecimalException):
        example = "" if type_ not in _EXAMPLES else f", such as {_EXAMPLES[type_]}"
        raise UsageError(f"{place}: expected {type_}{example}\n  found {value!r}") from None


def text(value: Any) -> str:
    """The text of a value that `key` reads back.

    >>> text(True), text(decimal.Decimal("1E+2")), text(datetime.date(2026, 1, 31))
    ('true', '100', '2026-01-31')
    """
    write = _WRITE.get(type(value))
    return str(value) if write is None else write(value)


def _misfit() -> Any:
    raise ValueError


def _bool(value: Any) -> int:
    found = {"true": True, "false": False}.get(value.strip().lower()) if isinstance(value, str) else value
    return int(found) if isinstance(found, bool) else _misfit()


def _integer(bits: int) -> Callable[[Any], int]:
    most = 1 << (bits - 1)

    def read(value: Any) -> int:
        if not isinstance(value, (int, str)) or isinstance(value, bool):
            raise TypeError
        number = int(value)
        return number if -most <= number < most else _misfit()

    return read


def _double(value: Any) -> float:
    if not isinstance(value, (int, float, str)) or isinstance(value, bool):
        raise TypeError
    number = float(value)
    return number if math.isfinite(number) else _misfit()


def _decimal(value: Any, type_: Decimal) -> int:
    """Only a value that the column can hold exactly: a rounded one would find another key."""
    if not isinstance(value, (int, str, decimal.Decimal)) or isinstance(value, bool):
        raise TypeError
    unscaled = int(decimal.Decimal(value).scaleb(type_.scale, _EXACT).to_integral_exact(context=_EXACT))
    return unscaled if abs(unscaled) < 10**type_.precision else _misfit()


def _string(value: Any) -> str:
    return value if isinstance(value, str) else _misfit()


def _timestamp(value: Any) -> int:
    return micros(value)


def _date(value: Any) -> int:
    found = datetime.date.fromisoformat(value) if isinstance(value, str) else value
    if isinstance(found, datetime.datetime):
        raise TypeError
    days: int = raw(found, types.DATE)
    return days


def _binary(value: Any) -> bytes:
    return value if isinstance(value, bytes) else base64.b64decode(value, validate=True)


_READ: Mapping[Type, Callable[[Any], Raw]] = {
    types.BOOL: _bool,
    types.INT: _integer(32),
    types.LONG: _integer(64),
    types.DOUBLE: _double,
    types.STRING: _string,
    types.TIMESTAMP: _timestamp,
    types.DATE: _date,
    types.BINARY: _binary,
}

_EXAMPLES: Mapping[Type, str] = {
    types.BOOL: "true or false",
    types.TIMESTAMP: "2026-01-31T12:00:00Z",
    types.DATE: "2026-01-31",
    types.BINARY: "base64 text",
}

_WRITE: Mapping[type, Callable[[Any], str]] = {
    bool: lambda value: "true" if value else "false",
    float: repr,
    decimal.Decimal: lambda value: format(value, "f"),
    datetime.datetime: datetime.datetime.isoformat,
    datetime.date: datetime.date.isoformat,
    bytes: lambda value: base64.b64encode(value).decode(),
}
