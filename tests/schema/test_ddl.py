"""Schemas are read from Spark DDL or Arrow, and what does not fit is refused with its place."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tarnbeck.errors import DeclarationError
from tarnbeck.schema.ddl import arrow, arrow_schema, parse
from tarnbeck.schema.types import (
    BINARY,
    BOOL,
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    Array,
    Column,
    Decimal,
    Map,
    Schema,
    Struct,
)

EVERYTHING = Schema(
    (
        Column("time", TIMESTAMP, nullable=False),
        Column("flag", BOOL),
        Column("few", INT),
        Column("many", LONG),
        Column("ratio", DOUBLE),
        Column("price", Decimal(18, 2)),
        Column("case", STRING),
        Column("day", DATE),
        Column("raw", BINARY),
        Column("a", Struct((Column("b", INT, nullable=False), Column("@c", Array(Array(STRING)))))),
        Column("m", Map(Struct((Column("x", Map(DOUBLE)),)))),
    )
)


def test_a_schema_survives_its_own_text() -> None:
    assert parse(str(EVERYTHING)) == EVERYTHING


def test_synonyms_of_spark_mean_the_same_type() -> None:
    assert parse("a bool, b integer, c long, d numeric(5), e decimal, F DOUBLE") == Schema(
        (
            Column("a", BOOL),
            Column("b", INT),
            Column("c", LONG),
            Column("d", Decimal(5, 0)),
            Column("e", Decimal(10, 0)),
            Column("F", DOUBLE),
        )
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no columns"),
        ("a", "expected the type of 'a', found the end"),
        ("a int,", "expected the name of a column, found the end"),
        ("a int) x (b int", "expected ',', found ')' at character 6"),
        ("a 'int'", "expected the type of 'a', found 'int'"),
        ("a int 'x", "can't read the schema"),
        ("a int default 3", "expected ',', found 'default'"),
        ("a float", "use double"),
        ("a tinyint", "use int"),
        ("a smallint", "use int"),
        ("a varchar(3)", "use string"),
        ("a timestamp_ntz", "use timestamp"),
        ("a strin", "did you mean 'string'?"),
        ("_a int", "the name '_a' is reserved"),
        ("`a b` int", "can't be the name of a column"),
        ("`a.b` int", "can't be the name of a column"),
        ("a int, A string", "the columns 'a' and 'A' have the same name"),
        ("s struct<a: int, A: int>", "column 's': the members 'a' and 'A' have the same name"),
        ("a decimal(39,2)", "column 'a': decimal(39,2) does not exist"),
        ("a decimal(0,0)", "column 'a': decimal(0,0) does not exist"),
        ("a array<decimal(3,4)>", "column 'a': decimal(3,4) does not exist"),
        ("a map<int,string>", "column 'a': the keys of a map must be string, found int"),
        ("a " + "array<" * 5000 + "int", "nested deeper than 32"),
    ],
)
def test_a_wrong_schema_is_refused_with_its_place_and_reason(text: str, reason: str) -> None:
    with pytest.raises(DeclarationError) as error:
        parse(text, place="stream 'prices'")
    assert str(error.value).startswith("stream 'prices': ")
    assert reason in str(error.value)


def test_an_arrow_schema_gives_the_same_columns_as_its_ddl() -> None:
    found = parse(
        pa.schema(
            [
                pa.field("time", pa.timestamp("ms", tz="Europe/Berlin"), nullable=False),
                pa.field("s", pa.struct([pa.field("b", pa.large_string(), nullable=False)])),
                pa.field("l", pa.large_list(pa.int32())),
                pa.field("m", pa.map_(pa.string(), pa.decimal128(18, 2))),
            ]
        )
    )
    assert found == parse(
        "time timestamp not null, s struct<b: string not null>, l array<int>, m map<string, decimal(18,2)>"
    )


def test_every_type_comes_back_from_its_arrow_form() -> None:
    nullable = parse(str(EVERYTHING).replace(" not null", ""))
    assert parse(arrow_schema(nullable)) == nullable


@pytest.mark.parametrize("found", [pa.timestamp("us"), pa.float32(), pa.int8(), pa.map_(pa.int32(), pa.string())])
def test_an_arrow_type_that_would_lose_something_is_refused(found: pa.DataType) -> None:
    with pytest.raises(DeclarationError, match="column 'a'"):
        parse(pa.schema([("a", found)]))


def test_types_have_one_arrow_form() -> None:
    assert arrow(parse("a timestamp")["a"].type) == pa.timestamp("us", tz="UTC")
    assert arrow(parse("a array<struct<b: decimal(5,1)>>")["a"].type) == pa.list_(
        pa.struct([("b", pa.decimal128(5, 1))])
    )
