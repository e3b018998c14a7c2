"""Random rows full of values at the edges of their types, for comparing the engines of expressions."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from tarnbeck.schema import types
from tarnbeck.schema.types import BOOL, DATE, DOUBLE, INT, LONG, STRING, TIMESTAMP, Array, Column, Map, Struct, Type

PRICE, LONGEST_COMPACT, FINE, WIDEST = (
    types.Decimal(9, 2),
    types.Decimal(18, 4),
    types.Decimal(24, 8),
    types.Decimal(38, 10),
)
INNER = Struct((Column("x", LONG), Column("name", STRING)))

COLUMNS: dict[str, Type] = {
    "b1": BOOL,
    "b2": BOOL,
    "i1": INT,
    "i2": INT,
    "n1": LONG,
    "n2": LONG,
    "d1": DOUBLE,
    "d2": DOUBLE,
    "p1": PRICE,
    "p2": PRICE,
    "c1": LONGEST_COMPACT,
    "c2": LONGEST_COMPACT,
    "f1": FINE,
    "w1": WIDEST,
    "s1": STRING,
    "s2": STRING,
    "t1": TIMESTAMP,
    "t2": TIMESTAMP,
    "day1": DATE,
    "struct": INNER,
    "longs": Array(LONG),
    "words": Array(STRING),
    "tags": Map(STRING),
    "counts": Map(LONG),
    "inners": Array(INNER),
}

ARROW = pa.schema(
    [
        *((name, pa.bool_()) for name in ("b1", "b2")),
        *((name, pa.int32()) for name in ("i1", "i2")),
        *((name, pa.int64()) for name in ("n1", "n2")),
        *((name, pa.float64()) for name in ("d1", "d2")),
        *((name, pa.decimal128(9, 2)) for name in ("p1", "p2")),
        *((name, pa.decimal128(18, 4)) for name in ("c1", "c2")),
        ("f1", pa.decimal128(24, 8)),
        ("w1", pa.decimal128(38, 10)),
        *((name, pa.string()) for name in ("s1", "s2")),
        *((name, pa.timestamp("us", "UTC")) for name in ("t1", "t2")),
        ("day1", pa.date32()),
        ("struct", pa.struct([("x", pa.int64()), ("name", pa.string())])),
        ("longs", pa.list_(pa.int64())),
        ("words", pa.list_(pa.string())),
        ("tags", pa.map_(pa.string(), pa.string())),
        ("counts", pa.map_(pa.string(), pa.int64())),
        ("inners", pa.list_(pa.struct([("x", pa.int64()), ("name", pa.string())]))),
    ]
)

WORDS = ["", " ", "a", "A", "ab", "abc", "a/b/c", "/a//b", "EUR", "x%y_z", "a\\b", "it's", "  pad  ", "\tt\n", "a\x00b"]
WORDS += ["\u00a0nb\u00a0", "é", "e\u0301", "İıßſ", "𝄞x", "日本", "${spark.master}", "{0}", "\\u0041"]
WORDS += ["0", "-1", "+7", "007", "1.5", "-2.675", "1e3", "1E400", "1e-400", " 5", "5\n", "1_000", "0x10", "NaN", "inf"]
WORDS += ["9223372036854775807", "9223372036854775808", "2147483648", "true", "FALSE", "fal\u017fe", "1.", ".5", "-0.0"]
WORDS += ["2026-01-31", "2026-02-30", "2024-02-29T12:34:56.789Z", "1969-12-31 23:59:59.999999+05:30", "0001-01-01"]
WORDS += ["2026-01-31T24:00:00Z", "2026-1-1", "9999-12-31T23:59:59Z", "123456789012345678901234567890.5", "0.5", "-0"]
WORDS += ["4.9e-324", "1.7976931348623157e308", "99999999999999999999999999999999999999"]
LONGS = [0, 1, -1, 2, 3, 7, -7, 10, 1000, 2**31 - 1, -(2**31), 2**53 + 1, 2**62, 2**63 - 1, -(2**63), -(2**63) + 1]
INTS = [0, 1, -1, 2, 5, -5, 100, 2**31 - 1, -(2**31)]
DOUBLES = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, 1e300, -1e300, 5e-324, 1e-300, 9.223372036854775807e18]
DOUBLES += [0.49999999999999994, 4503599627370497.5, 2147483647.5, -2147483648.9, -9.223372036854775808e18, 3.0]
TIMES = [0, -1, 1, 999_999, -999_999, 1_767_225_600_000_000, -62_135_596_800_000_000, 253_402_300_799_999_999]


def long_value(r: random.Random) -> int:
    return r.choice([r.choice(LONGS), r.randint(-20, 20), r.randint(-(2**63), 2**63 - 1)])


def _double(r: random.Random) -> float:
    return r.choice(
        [
            r.choice(DOUBLES),
            r.uniform(-100, 100),
            float(r.randint(-9, 9)),
            math.ldexp(r.random(), r.randint(-1000, 1000)),
        ]
    )


def _decimal(precision: int, scale: int) -> Callable[[random.Random], Decimal]:
    def value(r: random.Random) -> Decimal:
        digits = r.choice([1, 2, scale + 1, precision, r.randint(1, precision)])
        whole = r.randint(-(10**digits) + 1, 10**digits - 1)
        return decimal.Context(prec=60).scaleb(Decimal(whole), -scale)

    return value


def text_value(r: random.Random) -> str:
    return r.choice([r.choice(WORDS), "".join(r.choices("ab/ %_é𝄞\\'A", k=r.randint(0, 6)))])


def time_value(r: random.Random) -> dt.datetime:
    micros = r.choice([r.choice(TIMES), r.randint(-(10**15), 2 * 10**15), r.randint(TIMES[-2], TIMES[-1])])
    return dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=micros)


def _inner(r: random.Random) -> dict[str, Any]:
    return {"x": _maybe(r, long_value), "name": _maybe(r, text_value)}


def _maybe(r: random.Random, value: Callable[[random.Random], Any]) -> Any:
    return None if r.random() < 0.12 else value(r)


def _list(value: Callable[[random.Random], Any]) -> Callable[[random.Random], list[Any]]:
    return lambda r: [_maybe(r, value) for _ in range(r.randint(0, 4))]


def _map(value: Callable[[random.Random], Any]) -> Callable[[random.Random], dict[str, Any]]:
    return lambda r: {key: _maybe(r, value) for key in r.sample(["a", "b", "EUR", "", "it's", "é"], r.randint(0, 4))}


VALUES: dict[str, Callable[[random.Random], Any]] = {
    **dict.fromkeys(["b1", "b2"], lambda r: r.random() < 0.5),
    **dict.fromkeys(["i1", "i2"], lambda r: r.choice([r.choice(INTS), r.randint(-20, 20)])),
    **dict.fromkeys(["n1", "n2"], long_value),
    **dict.fromkeys(["d1", "d2"], _double),
    **dict.fromkeys(["p1", "p2"], _decimal(9, 2)),
    **dict.fromkeys(["c1", "c2"], _decimal(18, 4)),
    "f1": _decimal(24, 8),
    "w1": _decimal(38, 10),
    **dict.fromkeys(["s1", "s2"], text_value),
    **dict.fromkeys(["t1", "t2"], time_value),
    "day1": lambda r: time_value(r).date(),
    "struct": _inner,
    "longs": _list(long_value),
    "words": _list(text_value),
    "tags": _map(text_value),
    "counts": _map(long_value),
    "inners": _list(_inner),
}


def rows(r: random.Random, count: int) -> list[dict[str, Any]]:
    """Rows full of values at the edges of their types, one value in eight null."""
    return [{name: _maybe(r, VALUES[name]) for name in COLUMNS} for _ in range(count)]


def canonical(value: Any) -> Any:
    """A value that tells apart what `==` does not: the bits of doubles, the scale of decimals, int and bool."""
    if isinstance(value, float):
        return ("double", value.hex())
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, Decimal):
        return ("decimal", str(value))
    if isinstance(value, dt.datetime):
        return ("time", value.astimezone(dt.UTC).isoformat())
    return (type(value).__name__, value)
