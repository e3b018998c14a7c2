from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from tarnbeck.expression import check
from tarnbeck.schema import types
from tarnbeck.schema.types import BOOL, DATE, DOUBLE, INT, LONG, STRING, TIMESTAMP, Array, Column, Map, Struct, Type
from tests.expression.rows import canonical

BIGGEST, SMALLEST = 2**63 - 1, -(2**63)
NOON = dt.datetime(2026, 3, 15, 12, 34, 56, 789012, tzinfo=dt.UTC)
BEFORE_1970 = dt.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=dt.UTC)

COLUMNS: dict[str, Type] = {
    "n": LONG,
    "i": INT,
    "d": DOUBLE,
    "p": types.Decimal(9, 2),
    "s": STRING,
    "t": TIMESTAMP,
    "day": DATE,
    "ok": BOOL,
    "st": Struct((Column("x", LONG),)),
    "xs": Array(LONG),
    "m": Map(LONG),
}


def value(text: str, **row: Any) -> Any:
    found = check(text, COLUMNS, place="test", owner="test")
    return found.python()(dict.fromkeys(COLUMNS) | row)


@pytest.mark.parametrize(
    ("text", "row", "expected"),
    [
        ("n + 1", {"n": BIGGEST}, None),
        ("n - 1", {"n": SMALLEST}, None),
        ("-n", {"n": SMALLEST}, None),
        ("abs(n)", {"n": SMALLEST}, None),
        ("i * i", {"i": 2**31 - 1}, (2**31 - 1) ** 2),
        ("n % 3", {"n": -7}, -1),
        ("n % -3", {"n": 7}, 1),
        ("n % -1", {"n": SMALLEST}, 0),
        ("n % 0", {"n": 7}, None),
        ("n / 2", {"n": 7}, 3.5),
        ("n / 0", {"n": 7}, None),
        ("d / d", {"d": -0.0}, None),
        ("d * 10", {"d": 1e308}, None),
        ("d * 10 - d * 10", {"d": 1e308}, None),
        ("d * 0", {"d": -5.0}, 0.0),
        ("-d", {"d": 0.0}, 0.0),
        ("1 / (d * 1e10)", {"d": 1e300}, None),
        ("sqrt(d)", {"d": -1.0}, None),
        ("p + 0.005", {"p": Decimal("1.10")}, Decimal("1.105")),
        ("p * 3", {"p": Decimal("1.10")}, Decimal("3.30")),
        ("p * d", {"p": Decimal("0.10"), "d": 3.0}, 0.1 * 3.0),
        ("p % 0.3", {"p": Decimal("-1.00")}, Decimal("-0.10")),
        ("p > n", {"p": Decimal("0.01"), "n": 0}, True),
        ("round(p)", {"p": Decimal("-2.50")}, Decimal(-3)),
        ("round(p, 1)", {"p": Decimal("0.05")}, Decimal("0.1")),
        ("round(d)", {"d": -2.5}, -3.0),
        ("round(d)", {"d": 0.49999999999999994}, 0.0),
        ("floor(d)", {"d": -0.5}, -1),
        ("ceil(d)", {"d": 1e19}, None),
        ("floor(p)", {"p": Decimal("-0.01")}, Decimal(-1)),
        ("ceil(p)", {"p": Decimal("-0.01")}, Decimal(0)),
    ],
)
def test_arithmetic_is_exact_or_null(text: str, row: dict[str, Any], expected: Any) -> None:
    assert canonical(value(text, **row)) == canonical(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ok and false", False),
        ("ok and true", None),
        ("ok or true", True),
        ("ok or false", None),
        ("not ok", None),
        ("ok is null", True),
        ("n is not null", False),
        ("n = 1", None),
        ("n in (1, 2)", None),
        ("n not in (1, 2)", None),
        ("n between 1 and 2", None),
        ("5 between n and 3", False),
        ("if(ok, 1, 2)", 2),
        ("case when ok then 1 end", None),
        ("coalesce(n, 7)", 7),
        ("least(n, 3, 2)", 2),
        ("greatest(n, 3, 2)", 3),
        ("nullif(3, n)", 3),
        ("nullif(3, 3)", None),
        ("concat(s, 'a')", None),
        ("st.x", None),
        ("xs[0]", None),
    ],
)
def test_nulls_follow_three_valued_logic(text: str, expected: Any) -> None:
    assert canonical(value(text)) == canonical(expected)


@pytest.mark.parametrize(
    ("text", "given", "expected"),
    [
        ("length(s)", "e\u0301𝄞", 3),
        ("lower(s)", "ÄBCİ", "Äbcİ"),
        ("upper(s)", "äbcß", "äBCß"),
        ("trim(s)", " \u00a0a\t ", "\u00a0a\t"),
        ("ltrim(s) || '|'", "  a ", "a |"),
        ("rtrim(s) || '|'", "  a ", "  a|"),
        ("substring(s, 2)", "a𝄞b", "𝄞b"),
        ("substring(s, 2, 1)", "a𝄞b", "𝄞"),
        ("substring(s, 9)", "abc", ""),
        ("substring(s, 1 - 1)", "abc", None),
        ("left(s, 2)", "abc", "ab"),
        ("right(s, 2)", "abc", "bc"),
        ("right(s, 9)", "abc", "abc"),
        ("replace(s, '', 'x')", "abc", "abc"),
        ("replace(s, 'b', '')", "abc", "ac"),
        ("split_part(s, '/', 2)", "a/b/c", "b"),
        ("split_part(s, '/', -1)", "a/b/c", "c"),
        ("split_part(s, '/', 9)", "a/b/c", ""),
        ("s like 'a_c%'", "a\nc", True),
        ("s like 'a\\%'", "a\\b", True),
        ("s like 'A%'", "abc", False),
        ("s < 'b'", "B", True),
        ("starts_with(s, '')", "abc", True),
        ("ends_with(s, 'bc')", "abc", True),
        ("contains(s, 'd')", "abc", False),
    ],
)
def test_text_is_made_of_code_points(text: str, given: str, expected: Any) -> None:
    assert canonical(value(text, s=given)) == canonical(expected)


@pytest.mark.parametrize(
    ("to", "given", "expected"),
    [
        ("int", "2147483648", None),
        ("bigint", "+007", 7),
        ("bigint", " 7", None),
        ("bigint", "7\n", None),
        ("bigint", "7.0", None),
        ("bigint", "\u0667", None),
        ("bigint", "1_000", None),
        ("double", "1e3", 1000.0),
        ("double", "-0.0", 0.0),
        ("double", "1e400", None),
        ("double", "NaN", None),
        ("decimal(5,2)", "-1.255", Decimal("-1.26")),
        ("decimal(5,2)", "999.995", None),
        ("decimal(5,2)", "1e1", None),
        ("boolean", "True", True),
        ("boolean", "yes", None),
        ("date", "2024-02-29", dt.date(2024, 2, 29)),
        ("date", "2026-02-29", None),
        ("timestamp", "2026-03-15T13:34:56.789012+01:00", NOON),
        ("timestamp", "2026-03-15 12:34:56.5Z", NOON.replace(microsecond=500000)),
        ("timestamp", "2026-03-15T12:34:56", None),
        ("timestamp", "2026-03-15", None),
    ],
)
def test_text_is_read_strictly(to: str, given: str, expected: Any) -> None:
    assert canonical(value(f"cast(s as {to})", s=given)) == canonical(expected)


@pytest.mark.parametrize(
    ("text", "row", "expected"),
    [
        ("cast(n as int)", {"n": 2**31}, None),
        ("cast(d as int)", {"d": -2147483648.9}, -(2**31)),
        ("cast(d as bigint)", {"d": -2.9}, -2),
        ("cast(d as bigint)", {"d": 2.0**63}, None),
        ("cast(p as bigint)", {"p": Decimal("-2.90")}, -2),
        ("cast(p as decimal(3,1))", {"p": Decimal("-9.95")}, Decimal("-10.0")),
        ("cast(p as decimal(3,1))", {"p": Decimal("99.95")}, None),
        ("cast(n as decimal(3,1))", {"n": 100}, None),
        ("cast(p as string)", {"p": Decimal("-0.50")}, "-0.50"),
        ("cast(n as string)", {"n": SMALLEST}, "-9223372036854775808"),
        ("cast(ok as string)", {"ok": True}, "true"),
        ("cast(ok as int)", {"ok": True}, 1),
        ("cast(day as string)", {"day": dt.date(999, 1, 2)}, "0999-01-02"),
        ("cast(day as timestamp)", {"day": NOON.date()}, NOON.replace(hour=0, minute=0, second=0, microsecond=0)),
        ("cast(t as date)", {"t": BEFORE_1970}, dt.date(1969, 12, 31)),
    ],
)
def test_casts_fit_or_are_null(text: str, row: dict[str, Any], expected: Any) -> None:
    assert canonical(value(text, **row)) == canonical(expected)


@pytest.mark.parametrize(
    ("text", "given", "expected"),
    [
        ("year(t) * 10000 + month(t) * 100 + day(t)", NOON, 20260315),
        ("hour(t) * 10000 + minute(t) * 100 + second(t)", NOON, 123456),
        ("dayofweek(t)", NOON, 1),
        ("unix_seconds(t)", BEFORE_1970, -1),
        ("unix_millis(t)", BEFORE_1970, -1),
        ("unix_micros(t)", BEFORE_1970, -1),
        ("date_trunc('hour', t)", BEFORE_1970, dt.datetime(1969, 12, 31, 23, tzinfo=dt.UTC)),
        ("date_trunc('week', t)", NOON, dt.datetime(2026, 3, 9, tzinfo=dt.UTC)),
        ("date_trunc('quarter', t)", NOON, dt.datetime(2026, 1, 1, tzinfo=dt.UTC)),
        ("to_date(t) = date '2026-03-15'", NOON, True),
        ("t >= timestamp '2026-03-15T12:34:56.789012Z'", NOON, True),
    ],
)
def test_times_are_in_utc(text: str, given: dt.datetime, expected: Any) -> None:
    assert canonical(value(text, t=given)) == canonical(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("st.x + 1", 6),
        ("xs[0]", 7),
        ("xs[n]", None),
        ("xs[9]", None),
        ("xs[i]", None),
        ("m['k']", 3),
        ("m['z']", None),
        ("size(xs) + size(m)", 3),
        ("array_contains(xs, 7)", True),
        ("array_contains(xs, 8)", False),
        ("array_contains(xs, n)", False),
        ("map_contains_key(m, 'k')", True),
    ],
)
def test_what_is_not_there_is_null(text: str, expected: Any) -> None:
    row = {"st": {"x": 5}, "xs": [7, None], "m": {"k": 3}, "n": -1, "i": None}
    assert canonical(value(text, **row)) == canonical(expected)
