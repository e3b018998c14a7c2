"""Random expressions of a wanted type, as text, and random rows for them: what the engines are compared on."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from tarnbeck.errors import DeclarationError
from tarnbeck.expression import Expression, check
from tarnbeck.schema import types
from tarnbeck.schema.types import BOOL, DATE, DOUBLE, INT, LONG, STRING, TIMESTAMP, Array, Column, Map, Struct, Type

PRICE, FINE = types.Decimal(9, 2), types.Decimal(24, 8)
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
    "f1": FINE,
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
        ("f1", pa.decimal128(24, 8)),
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

WORDS = [
    *(
        "",
        " ",
        "a",
        "A",
        "ab",
        "abc",
        "a/b/c",
        "/a//b",
        "EUR",
        "x%y_z",
        "a\\b",
        "it's",
        "  pad  ",
        "\u00a0nb\u00a0",
        "\tt\n",
    ),
    *(
        "é",
        "e\u0301",
        "İıßſ",
        "𝄞x",
        "日本",
        "0",
        "-1",
        "+7",
        "007",
        "1.5",
        "-2.675",
        "1e3",
        "1E400",
        "1e-400",
        " 5",
        "5\n",
    ),
    *(
        "9223372036854775807",
        "9223372036854775808",
        "2147483648",
        "1_000",
        "0x10",
        "NaN",
        "inf",
        "true",
        "FALSE",
        "fal\u017fe",
    ),
    *(
        "2026-01-31",
        "2026-02-30",
        "2024-02-29T12:34:56.789Z",
        "1969-12-31 23:59:59.999999+05:30",
        "9999-12-31T23:59:59Z",
    ),
    *(
        "0001-01-01",
        "2026-01-31T24:00:00Z",
        "2026-1-1",
        "${spark.master}",
        "{0}",
        "\\u0041",
        "123456789012345678901234567890.5",
    ),
    *("0.5", "-0", "-0.0", "1.", ".5", "4.9e-324", "1.7976931348623157e308", "99999999999999999999999999999999999999"),
]
PATTERNS = ["%", "_", "a%", "%b", "%a_", "a\\b", "x\\%y", "\\", "%'%", "", "__", "é%", "${x}"]
LONGS = [0, 1, -1, 2, 3, 7, -7, 10, 1000, 2**31 - 1, -(2**31), 2**53 + 1, 2**62, 2**63 - 1, -(2**63), -(2**63) + 1]
INTS = [0, 1, -1, 2, 5, -5, 100, 2**31 - 1, -(2**31)]
DOUBLES = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, 1e300, -1e300, 5e-324, 1e-300, 9.223372036854775807e18]
DOUBLES += [
    0.49999999999999994,
    4503599627370497.5,
    2147483647.5,
    -2147483648.9,
    -9.223372036854775808e18,
    math.pi,
    3.0,
]
TIMES = [0, -1, 1, 999_999, -999_999, 1_767_225_600_000_000, -62_135_596_800_000_000, 253_402_300_799_999_999]


def _long(r: random.Random) -> int:
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


def _text(r: random.Random) -> str:
    return r.choice([r.choice(WORDS), "".join(r.choices("ab/ %_é𝄞\\'A", k=r.randint(0, 6)))])


def _time(r: random.Random) -> dt.datetime:
    micros = r.choice([r.choice(TIMES), r.randint(-(10**15), 2 * 10**15), r.randint(TIMES[-2], TIMES[-1])])
    return dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=micros)


def _inner(r: random.Random) -> dict[str, Any]:
    return {"x": _maybe(r, _long), "name": _maybe(r, _text)}


def _maybe(r: random.Random, value: Callable[[random.Random], Any]) -> Any:
    return None if r.random() < 0.12 else value(r)


def _list(value: Callable[[random.Random], Any]) -> Callable[[random.Random], list[Any]]:
    return lambda r: [_maybe(r, value) for _ in range(r.randint(0, 4))]


def _map(value: Callable[[random.Random], Any]) -> Callable[[random.Random], dict[str, Any]]:
    return lambda r: {key: _maybe(r, value) for key in r.sample(["a", "b", "EUR", "", "it's", "é"], r.randint(0, 4))}


VALUES: dict[str, Callable[[random.Random], Any]] = {
    **dict.fromkeys(["b1", "b2"], lambda r: r.random() < 0.5),
    **dict.fromkeys(["i1", "i2"], lambda r: r.choice([r.choice(INTS), r.randint(-20, 20)])),
    **dict.fromkeys(["n1", "n2"], _long),
    **dict.fromkeys(["d1", "d2"], _double),
    **dict.fromkeys(["p1", "p2"], _decimal(9, 2)),
    "f1": _decimal(24, 8),
    **dict.fromkeys(["s1", "s2"], _text),
    **dict.fromkeys(["t1", "t2"], _time),
    "day1": lambda r: _time(r).date(),
    "struct": _inner,
    "longs": _list(_long),
    "words": _list(_text),
    "tags": _map(_text),
    "counts": _map(_long),
    "inners": _list(_inner),
}


def rows(r: random.Random, count: int) -> list[dict[str, Any]]:
    """Rows full of values at the edges of their types, one value in eight null."""
    return [{name: _maybe(r, VALUES[name]) for name in COLUMNS} for _ in range(count)]


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


LEAVES: dict[str, Callable[[random.Random], str]] = {
    "bool": lambda r: r.choice(["b1", "b2", "b1", "true", "false"]),
    "int": lambda r: r.choice(["i1", "i2", "n1", "n2", "n1", "n2", str(_long(r)), str(r.randint(-9, 9)), "struct.x"]),
    "decimal": lambda r: r.choice(["p1", "p2", "f1", "p1", f"{r.randint(-999, 999) / 100:.2f}", "0.5", "2"]),
    "double": lambda r: r.choice(["d1", "d2", "d1", "d2", "1e0", "-2.5e0", "1e308", "0e0", f"{r.uniform(-9, 9):e}"]),
    "text": lambda r: r.choice(["s1", "s2", "s1", "s2", "struct.name", quoted(_text(r))]),
    "time": lambda r: r.choice(["t1", "t2", "t1", f"timestamp '{_time(r).replace(tzinfo=None).isoformat()}Z'"]),
    "date": lambda r: r.choice(["day1", "day1", f"date '{_time(r).date().isoformat()}'"]),
}

# {kind} stands for an expression of that kind, {kind!} for a leaf or literal that the checker wants as it is.
FORMS: dict[str, list[str]] = {
    "bool": [
        *(f"{{{kind}}} {sign} {{{kind}}}" for kind in LEAVES if kind != "bool" for sign in ("=", "<", ">=", "!=")),
        *("{int} > {decimal}", "{int} <= {double}", "{decimal} < {double}", "{bool} = {bool}", "{bool} <> {bool}"),
        *("{bool} and {bool}", "{bool} or {bool}", "not {bool}", "{bool} and ({bool} or {bool})"),
        *("{int} is null", "{text} is not null", "{bool} is null", "words[0] is null", "struct is null"),
        *(
            "{int} between {int} and {int}",
            "{double} between {double} and {double}",
            "{text} between {text} and {text}",
        ),
        *("{int} in (1, 2, -7, 1.5)", "{text} in ('a', '', 'é')", "{double} in (0e0, 1, 2.5)", "{decimal} in (1, 0.5)"),
        "{double} in (0e0, 1, 2.5, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)",
        *(
            "{text} like {pattern}",
            "{text} not like {pattern}",
            "starts_with({text}, {text})",
            "contains({text}, {text})",
        ),
        *(
            "ends_with({text}, {text})",
            "if({bool}, {bool}, {bool})",
            "coalesce({bool}, {bool})",
            "nullif({bool}, {bool})",
        ),
        *("cast({text} as boolean)", "array_contains(longs, {int})", "array_contains(words, {text})"),
        "map_contains_key(tags, {text})",
    ],
    "int": [
        *("{int} + {int}", "{int} - {int}", "{int} * {int}", "{int} % {int}", "-{int}", "abs({int})", "round({int})"),
        *("if({bool}, {int}, {int})", "coalesce({int}, {int})", "nullif({int}, {int})", "least({int}, {int}, {int})"),
        *("greatest({int}, {int})", "case when {bool} then {int} when {bool} then {int} end", "length({text})"),
        *("case {int} when 1 then {int} when 2 then 3 else {int} end", "floor({double})", "ceil({double})"),
        *("cast({double} as bigint)", "cast({double} as int)", "cast({int} as int)", "cast({bool} as int)"),
        *("cast({decimal} as bigint)", "cast({decimal} as int)", "cast({text} as bigint)", "cast({text} as int)"),
        *(f"{part}({{time}})" for part in ("year", "month", "day", "hour", "minute", "second", "dayofweek")),
        *(f"{part}({{date}})" for part in ("year", "month", "day", "dayofweek")),
        *("unix_seconds({time})", "unix_millis({time})", "unix_micros({time})", "size(longs)", "size(tags)"),
        *("longs[{int}]", "longs[0]", "counts[{text}]", "counts['a']", "inners[{int}].x", "size(inners)", "struct.x"),
    ],
    "decimal": [
        *(
            "{decimal} + {decimal}",
            "{decimal} - {decimal}",
            "{decimal} * {decimal}",
            "{decimal} % {decimal}",
            "-{decimal}",
        ),
        *("{decimal} + {int}", "{decimal} * 3", "{int} - {decimal}", "abs({decimal})", "round({decimal})"),
        *("round({decimal}, 1)", "floor({decimal})", "ceil({decimal})", "if({bool}, {decimal}, {decimal})"),
        *(
            "coalesce({decimal}, {int})",
            "least({decimal}, {decimal})",
            "greatest({decimal}, {int})",
            "nullif({decimal}, 0)",
        ),
        *("cast({decimal} as decimal(5,1))", "cast({int} as decimal(12,3))", "cast({text} as decimal(10,3))"),
        *("cast({decimal} as decimal(30,2))", "cast({text} as decimal(38,0))"),
    ],
    "double": [
        *("{double} + {double}", "{double} - {double}", "{double} * {double}", "{double} / {double}", "-{double}"),
        *(
            "{double} * {decimal}",
            "{double} + {int}",
            "{int} / {int}",
            "{decimal} / {int}",
            "abs({double})",
            "sqrt({double})",
        ),
        *(
            "round({double})",
            "if({bool}, {double}, {double})",
            "coalesce({double}, {int})",
            "nullif({double}, {double})",
        ),
        *("least({double}, {double})", "greatest({double}, {double}, {int})", "cast({int} as double)"),
        *("cast({decimal} as double)", "cast({text} as double)", "case when {bool} then {double} else {decimal} end"),
        "{double} + {double} * {double} - {double}",
    ],
    "text": [
        *("lower({text})", "upper({text})", "trim({text})", "ltrim({text})", "rtrim({text})", "{text} || {text}"),
        *("concat({text}, {text}, {text})", "substring({text}, 2)", "substring({text}, 1, 2)", "left({text}, 2)"),
        *("substring({text}, {int})", "substring({text}, {int}, {int})", "right({text}, 2)", "left({text}, {int})"),
        *("right({text}, {int})", "replace({text}, {text}, {text})", "split_part({text}, '/', 2)"),
        *("split_part({text}, '/', -1)", "split_part({text}, 'aa', 1)", "if({bool}, {text}, {text})"),
        *("coalesce({text}, {text})", "nullif({text}, {text})", "least({text}, {text})", "greatest({text}, {text})"),
        *("cast({int} as string)", "cast({bool} as string)", "cast({decimal} as string)", "cast({date} as string)"),
        *(
            "words[{int}]",
            "words[1]",
            "tags[{text}]",
            "tags['it''s']",
            "inners[0].name",
            "if({bool}, struct, inners[1]).name",
        ),
    ],
    "time": [
        *(
            f"date_trunc('{unit}', {{time}})"
            for unit in ("second", "minute", "hour", "day", "week", "month", "quarter", "year")
        ),
        *(
            "if({bool}, {time}, {time})",
            "coalesce({time}, {time})",
            "least({time}, {time})",
            "greatest({time}, {time})",
        ),
        *("cast({text} as timestamp)", "cast({date} as timestamp)", "nullif({time}, {time})"),
    ],
    "date": [
        *("cast({time} as date)", "to_date({time})", "cast({text} as date)", "coalesce({date}, {date})"),
        *("least({date}, {date})", "if({bool}, {date}, {date})"),
    ],
}


def text_of(r: random.Random, kind: str, depth: int) -> str:
    """The text of a random expression of a kind."""
    if depth == 0 or r.random() < 0.15:
        return LEAVES[kind](r)
    form = r.choice(FORMS[kind])
    parts = form.replace("}", "{").split("{")
    filled = [part if place % 2 == 0 else _gap(r, part, depth - 1) for place, part in enumerate(parts)]
    return "".join(filled)


def _gap(r: random.Random, kind: str, depth: int) -> str:
    if kind == "pattern":
        return quoted(r.choice(PATTERNS))
    inner = text_of(r, kind, depth)
    return f"({inner})" if " " in inner or inner.startswith("-") else inner


REFUSALS = ("digits", "whole number from", "is not a", "with null is never true", "has no type")


def _expected(error: DeclarationError) -> None:
    if not any(reason in str(error) for reason in REFUSALS):
        raise error


def expression(r: random.Random, depth: int = 3) -> Expression:
    """A random expression that the checker accepts; what it refuses (too many digits) is drawn again."""
    while True:
        text = text_of(r, r.choice(list(FORMS)), r.randint(1, depth))
        try:
            return check(text, COLUMNS, place="test", owner="test")
        except DeclarationError as error:
            _expected(error)


def every_form(r: random.Random) -> list[Expression]:
    """Each form at least once, with leaves only."""
    found = []
    for kind, forms in FORMS.items():
        for form in forms:
            parts = form.replace("}", "{").split("{")
            for _ in range(20):
                text = "".join(p if i % 2 == 0 else _gap(r, p, 0) for i, p in enumerate(parts))
                try:
                    found.append(check(text, COLUMNS, place=kind, owner="test"))
                    break
                except DeclarationError as error:
                    _expected(error)
    return found


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
