"""Random expressions of a wanted type, as text that users could write: what the engines are compared on."""

from __future__ import annotations

import random
from collections.abc import Callable

from tarnbeck.errors import DeclarationError
from tarnbeck.expression import Expression, check
from tests.expression.rows import COLUMNS, long_value, text_value, time_value

PATTERNS = ["%", "_", "a%", "%b", "%a_", "a\\b", "x\\%y", "\\", "%'%", "", "__", "é%", "${x}"]


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


LEAVES: dict[str, Callable[[random.Random], str]] = {
    "bool": lambda r: r.choice(["b1", "b2", "b1", "true", "false"]),
    "int": lambda r: r.choice(
        ["i1", "i2", "n1", "n2", "n1", "n2", str(long_value(r)), str(r.randint(-9, 9)), "struct.x"]
    ),
    "decimal": lambda r: r.choice(
        ["p1", "p2", "c1", "c2", "f1", "w1", f"{r.randint(-999, 999) / 100:.2f}", "0.5", "2"]
    ),
    "double": lambda r: r.choice(["d1", "d2", "d1", "d2", "1e0", "-2.5e0", "1e308", "0e0", f"{r.uniform(-9, 9):e}"]),
    "text": lambda r: r.choice(["s1", "s2", "s1", "s2", "struct.name", quoted(text_value(r))]),
    "time": lambda r: r.choice(["t1", "t2", "t1", f"timestamp '{time_value(r).replace(tzinfo=None).isoformat()}Z'"]),
    "date": lambda r: r.choice(["day1", "day1", f"date '{time_value(r).date().isoformat()}'"]),
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


REFUSALS = ("digits", "whole number from", "is not a", "with null is never true", "has no type", "NUL")


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
