"""Casts: what can't be converted is null; text is read by strict patterns, not by what an engine happens to accept."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from tarnbeck.expression.numeric import INT_MAX, INT_MIN, bounded, finite, fitted
from tarnbeck.expression.operation import Operation, both, plain
from tarnbeck.schema import types
from tarnbeck.schema.types import Type

_YEAR = "(?:[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
_DAY = "-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_CLOCK = "[T ](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:[.][0-9]{1,6})?"
# With an offset the ends of the calendar could be crossed, so those years are only read in UTC.
_TIME = f"(?:{_YEAR}{_DAY}{_CLOCK}Z|[1-8][0-9]{{3}}{_DAY}{_CLOCK}[+-](?:0[0-9]|1[0-3]):[0-5][0-9])"

WHOLE_TEXT = "[+-]?[0-9]{1,38}"
DECIMAL_TEXT = "[+-]?[0-9]{1,38}(?:[.][0-9]{1,38})?"
DOUBLE_TEXT = "[+-]?[0-9]{1,38}(?:[.][0-9]{1,38})?(?:[eE][+-]?[0-9]{1,3})?"
DATE_TEXT = _YEAR + _DAY
TIMESTAMP_TEXT = _TIME


def _int(value: int) -> int | None:
    return value if INT_MIN <= value <= INT_MAX else None


def _decimal_of(prepare: Callable[[Any], Decimal]) -> Callable[[Type], Callable[..., Any]]:
    def of(to: Type) -> Callable[[Any], Decimal | None]:
        if not isinstance(to, types.Decimal):
            raise TypeError(f"a cast to decimal can't give {to}")
        return lambda value: fitted(prepare(value), to)

    return of


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _timestamp(text: str) -> datetime | None:
    clock, dot, rest = text.partition(".")
    digits = re.match("[0-9]*", rest)
    fraction = digits[0] if digits else ""
    try:
        whole = datetime.fromisoformat(clock + rest[len(fraction) :] if dot else text)
    except ValueError:
        return None
    return whole.replace(microsecond=int(fraction.ljust(6, "0"))).astimezone(UTC)


def _reading(pattern: str, read: Callable[[Type], Callable[[str], Any]], *, unsafe: bool = False) -> Operation:
    """Text of that pattern, read by the engine; any other text is null."""
    form = pattern.replace("{", "{{").replace("}", "}}")
    compiled = re.compile(pattern)

    def python(to: Type) -> Callable[[str], Any]:
        function = read(to)
        return lambda text: function(text) if compiled.fullmatch(text) else None

    # Java's $ also matches before a last line break, (?!.) does not.
    spark = f"if({{0}} RLIKE '(?s)^(?:{form})(?!.)', try_cast({{0}} AS {{type}}), CAST(NULL AS {{type}}))"
    duckdb = f"CASE WHEN regexp_full_match({{0}}, '{form}') THEN TRY_CAST({{0}} AS {{type}}) END"
    return Operation(python, spark, duckdb, unsafe=unsafe)


_SPARK_DOUBLE_BIGINT = (
    "if({0} >= -9.223372036854775808E18D AND {0} < 9.223372036854775808E18D, CAST({0} AS BIGINT), CAST(NULL AS BIGINT))"
)
_TRUE, _FALSE = "[tT][rR][uU][eE]", "[fF][aA][lL][sS][eE]"
_PLAIN = "CAST({0} AS {type})"
_TRY = "try_cast({0} AS {type})"
_TRUNCATE = "TRY_CAST(trunc({0}) AS {type})"

OPERATIONS = {
    "cast_boolean_int": both(int, _PLAIN),
    "cast_boolean_bigint": both(int, _PLAIN),
    "cast_boolean_string": both(lambda a: "true" if a else "false", _PLAIN),
    "cast_int_bigint": both(int, _PLAIN),
    "cast_int_double": both(float, _PLAIN),
    "cast_int_decimal": Operation(_decimal_of(Decimal), _TRY, _TRY),
    "cast_int_string": both(str, _PLAIN),
    "cast_bigint_int": both(_int, _TRY),
    "cast_bigint_double": both(float, _PLAIN),
    "cast_bigint_decimal": Operation(_decimal_of(Decimal), _TRY, _TRY),
    "cast_bigint_string": both(str, _PLAIN),
    "cast_double_int": Operation(plain(lambda a: _int(math.trunc(a))), _TRY, _TRUNCATE),
    "cast_double_bigint": Operation(plain(lambda a: bounded(math.trunc(a))), _SPARK_DOUBLE_BIGINT, _TRUNCATE),
    "cast_decimal_int": Operation(plain(lambda a: _int(int(a))), _TRY, _TRUNCATE),
    "cast_decimal_bigint": Operation(plain(lambda a: bounded(int(a))), _TRY, _TRUNCATE),
    "cast_decimal_double": both(float, _PLAIN),
    # Beyond 15 digits DuckDB divides two rounded numbers; its reading of text is right to the last bit.
    "cast_wide_decimal_double": Operation(plain(float), _PLAIN, "CAST(CAST({0} AS VARCHAR) AS DOUBLE)"),
    "cast_decimal_decimal": Operation(_decimal_of(lambda a: a), _TRY, _TRY),
    "cast_decimal_string": both(lambda a: format(a, "f"), _PLAIN),
    "cast_string_boolean": Operation(
        plain(lambda a: {"true": True, "false": False}.get(a.lower()) if a.isascii() else None),
        f"CASE WHEN {{0}} RLIKE '(?s)^{_TRUE}(?!.)' THEN TRUE WHEN {{0}} RLIKE '(?s)^{_FALSE}(?!.)' THEN FALSE END",
        f"CASE WHEN regexp_full_match({{0}}, '{_TRUE}') THEN TRUE "
        f"WHEN regexp_full_match({{0}}, '{_FALSE}') THEN FALSE END",
    ),
    "cast_string_int": _reading(WHOLE_TEXT, plain(lambda a: _int(int(a)))),
    "cast_string_bigint": _reading(WHOLE_TEXT, plain(lambda a: bounded(int(a)))),
    "cast_string_double": _reading(DOUBLE_TEXT, plain(lambda a: finite(float(a))), unsafe=True),
    "cast_string_decimal": _reading(DECIMAL_TEXT, _decimal_of(Decimal)),
    "cast_string_date": _reading(DATE_TEXT, plain(_date)),
    "cast_string_timestamp": _reading(TIMESTAMP_TEXT, plain(_timestamp)),
    "cast_date_string": both(date.isoformat, _PLAIN),
    "cast_date_timestamp": both(lambda d: datetime(d.year, d.month, d.day, tzinfo=UTC), _PLAIN),
    "cast_timestamp_date": both(lambda t: t.date(), _PLAIN),
}
