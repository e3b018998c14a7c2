from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

from tarnbeck.errors import DeclarationError
from tarnbeck.expression import Expression, check
from tarnbeck.schema import types
from tarnbeck.schema.types import BOOL, DATE, DOUBLE, INT, LONG, STRING, TIMESTAMP, Array, Column, Map, Struct, Type

COLUMNS: dict[str, Type] = {
    "time": TIMESTAMP,
    "exchange": STRING,
    "price": types.Decimal(18, 2),
    "volume": DOUBLE,
    "n": LONG,
    "i": INT,
    "ok": BOOL,
    "day": DATE,
    "raw": types.BINARY,
    "Mixed Case": LONG,
    "values": LONG,
    "a": Struct((Column("b", Struct((Column("c", LONG),))), Column("list", Array(LONG)))),
    "tags": Map(STRING),
}


def checked(text: str) -> Expression:
    return check(text, COLUMNS, place="view 'ohlc'", owner="stream 'prices'")


def refusal(text: str) -> str:
    with pytest.raises(DeclarationError) as caught:
        checked(text)
    return str(caught.value)


def test_an_unknown_column_is_refused_with_what_there_is_and_the_nearest() -> None:
    assert refusal("prise > 0").splitlines() == [
        "view 'ohlc': unknown column 'prise' in \"prise > 0\"",
        "  stream 'prices' has: " + ", ".join(COLUMNS),
        "  did you mean 'price'?",
    ]


def test_an_unknown_function_is_refused_with_the_nearest() -> None:
    message = refusal("splitpart(exchange, '/', 1)")
    assert message.startswith("view 'ohlc': unknown function 'splitpart' in")
    assert message.endswith("did you mean 'split_part'?")


def test_an_unknown_member_is_refused_with_what_the_struct_has() -> None:
    assert "unknown member 'x' in" in refusal("a.b.x")
    assert "'a.b' has: c" in refusal("a.b.x")


def test_a_syntax_error_shows_its_position() -> None:
    assert refusal("price > 1 1").splitlines() == [
        "view 'ohlc': syntax error near '1' at line 1, character 11, in \"price > 1 1\"",
        "  price > 1 1",
        "            ^",
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "expected one expression"),
        ("price; price", "expected one expression"),
        ("'open", "not closed"),
        ("select 1", "syntax error"),
        ("price as p", "syntax error"),
        ("drop table x", "syntax error"),
        ("(select 1)", "a subquery is not allowed"),
        ("n in (select 1)", "'query' is not allowed"),
        ("exists(select 1)", "not allowed"),
        ("sum(n)", "tb.sum"),
        ("count(*)", "tb.count"),
        ("sum(n) over ()", "a window function is not allowed"),
        ("length(exchange) over ()", "a window function is not allowed"),
        ("*", "'*' is not allowed"),
        ("a.*", "expected the name of a member"),
        ("x -> x + 1", "not allowed"),
        ("interval '1' day", "an interval is not allowed"),
        ("?", "not allowed"),
        ("now()", "when it is computed"),
        ("current_timestamp", "when it is computed"),
        ("random()", "chance"),
        ("ln(volume)", "last bit"),
        ("try_cast(n as int)", "already gives null"),
        ("n ilike 'a'", "not allowed"),
        ("exchange like 'a' escape 'b'", "not allowed"),
        ("exchange like exchange", "must be a literal"),
        ("n in (i, 1)", "list of literals"),
        ("n in (1, null)", "is null"),
        ("n = null", "write x is null"),
        ("ok is true", "'is null'"),
        ("null", "null has no type"),
        ("coalesce(null, null)", "all its values are null"),
        ("n + null", "null has no type"),
        ("n + exchange", "'+' takes a number, 'exchange' is string"),
        ("n > exchange", "can't mix bigint and string"),
        ("time > '2026-01-01'", "timestamp '2026-01-31T12:00:00Z'"),
        ("time > day", "can't mix timestamp and date"),
        ("ok > ok", "can't compare values of type boolean"),
        ("raw < raw", "can't compare values of type binary"),
        ("a = a", "can't compare values"),
        ("n and ok", "needs a boolean, 'n' is bigint"),
        ("not n", "needs a boolean"),
        ("if(n, 1, 2)", "needs a boolean"),
        ("if(ok, 1, 'x')", "can't mix bigint and string"),
        ("lower(n)", "cast it: cast(n as string)"),
        ("lower()", "wrong number of arguments: lower(s) got 0"),
        ("volume % 2", "not doubles"),
        ("round(volume, 2)", "takes a decimal"),
        ("round(price, -1)", "0 digits or more"),
        ("substring(exchange, 0)", "from 1 on, found 0"),
        ("split_part(exchange, '', 1)", "can't be empty"),
        ("split_part(exchange, '/', 0)", "from 1"),
        ("date_trunc('fortnight', time)", "units: second, minute"),
        ("hour(day)", "hour takes timestamp, 'day' is date"),
        ("a[0]", "only an array or a map"),
        ("a.list['x']", "whole number"),
        ("a.list[-1]", "from 0 on"),
        ("tags[1]", "a map's key takes string"),
        ("price.x", "it has no members"),
        ("price * price * price", "could need 56 digits"),
        ("cast(n as decimal(38,0)) > cast(n as decimal(38,30))", "digits"),
        ("-cast(n as decimal(38,0))", "at most 34 digits"),
        ("cast(volume as decimal(9,2))", "can't cast double to decimal(9,2)"),
        ("cast(volume as string)", "can't cast double to string"),
        ("cast(time as string)", "can't cast timestamp to string"),
        ("cast(n as float)", "types: boolean, int, bigint"),
        ("cast(n as decimal)", "decimal(1..38, 0..38)"),
        ("cast(n as decimal(39,0))", "decimal(1..38, 0..38)"),
        ("date '2026-02-30'", "is not a date"),
        ("timestamp '2026-01-01'", "is not a timestamp"),
        ("9223372036854775808", "too large for bigint"),
        ("1e999", "too large for a double"),
        ("'a\0b'", "NUL"),
    ],
)
def test_what_is_outside_the_closed_list_is_refused_with_a_reason(text: str, reason: str) -> None:
    assert reason in refusal(text)


def test_nesting_is_bounded_whatever_its_form() -> None:
    for text in ("(" * 3000 + "n" + ")" * 3000, " + ".join(["n"] * 1000), "not " * 2000 + "ok", "-" * 300 + "n"):
        with pytest.raises(DeclarationError):
            checked(text)


def test_text_that_would_grow_without_bounds_is_refused() -> None:
    text = "volume"
    for _ in range(30):
        text = f"(1 / {text})"
    assert "too large" in refusal(text)


def test_texts_that_differ_in_case_spaces_and_parentheses_are_one_expression() -> None:
    texts = ["price*VOLUME  >5 and  OK", "(Price * volume) > 5 AND ok", "((price * volume > (5))) /* why */ And ok"]
    assert {checked(text).sql for text in texts} == {"((price * volume) > 5) AND ok"}
    assert len({checked(text) for text in texts}) == 1
    assert checked("n == 1 and n != 2").sql == checked("n = 1 AND n <> 2").sql
    assert checked("n::int").sql == "CAST(n AS INT)"


def test_texts_of_other_meaning_stay_apart() -> None:
    assert checked("exchange = 'a'") != checked("exchange = 'A'")
    assert checked("n - (n - n)").sql != checked("n - n - n").sql
    assert checked("n > 1") != checked("n > 1.0")


def test_an_expression_knows_its_type_and_its_top_level_columns() -> None:
    found = checked("a.b.c + a.list[i] > 3 and tags['x'] is null")
    assert found.type == BOOL
    assert found.columns == {"a", "i", "tags"}


def test_names_that_are_not_plain_words_are_quoted() -> None:
    assert checked('"Mixed Case" + "values"').sql == '"Mixed Case" + "values"'
    assert checked("`Mixed Case` > 1").spark() == "(`Mixed Case` > 1L)"


def test_a_column_can_have_the_name_of_a_refused_function() -> None:
    columns = {"count": LONG, "max": LONG, "`odd`": LONG}
    assert check("max - count", columns, place="view 'v'", owner="stream 's'").columns == {"max", "count"}
    assert check('"`odd`"', columns, place="view 'v'", owner="stream 's'").spark() == "```odd```"


def test_common_cases_are_plain_sql() -> None:
    assert checked("price").spark() == "`price`"
    assert checked("price > 0").spark() == "(`price` > CAST('0.00' AS DECIMAL(18,2)))"
    assert checked("i > 5").spark() == "(`i` > 5)"
    assert checked("volume < 2").spark() == "(`volume` < 2.0D)"
    assert checked("n + 1").spark() == "try_add(`n`, 1L)"
    assert checked("n + 1").duckdb() == 'TRY("n" + CAST(1 AS BIGINT))'
    assert checked("volume + volume * 2").spark().count("abs") == 1


def test_literals_cannot_break_out_of_the_sql_text() -> None:
    found = checked(r"exchange = 'it''s \ ${spark.master}'")
    assert found.spark() == r"(`exchange` = 'it\u0027s \u005c \u0024{spark.master}')"
    assert found.duckdb() == "(\"exchange\" = 'it''s \\ ${spark.master}')"


def test_an_expression_can_be_pickled_and_hashed() -> None:
    found = checked("if(price > 0, time, timestamp '2026-01-01T00:00:00Z')")
    again = pickle.loads(pickle.dumps(found))  # noqa: S301
    assert again == found
    assert hash(again) == hash(found)


def test_using_a_checked_expression_does_not_load_the_parser() -> None:
    code = "import sys, tarnbeck.expression; sys.exit('sqlglot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
