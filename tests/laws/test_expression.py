"""The law of expressions: Spark, DuckDB and Python compute the same value, to the last bit, from the same text."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tarnbeck.expression import Expression, check
from tarnbeck.schema import types
from tarnbeck.schema.types import Type
from tests.effort import tries
from tests.expression.rows import ARROW, COLUMNS, canonical, rows
from tests.expression.trees import every_form, expression


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET threads = 1")
        yield connection


def arrow_of(data: Sequence[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(list(data), schema=ARROW)


def differences(found: Expression, sql: str, data: Sequence[dict[str, Any]], answers: Sequence[Any]) -> list[str]:
    run = found.python()
    pairs = [(row, run(row), answer) for row, answer in zip(data, answers, strict=True)]
    return [
        f"{found.sql}\n  {sql}\n  { {name: row[name] for name in found.columns} }\n  python {ours!r}, engine {theirs!r}"
        for row, ours, theirs in pairs
        if canonical(ours) != canonical(theirs)
    ]


def compare_with_duckdb(
    database: duckdb.DuckDBPyConnection, found: list[Expression], data: list[dict[str, Any]]
) -> None:
    database.register("given", arrow_of(data))
    selected = ", ".join(f"{one.duckdb()} AS c{i}" for i, one in enumerate(found))
    answer = database.table("given").project(selected).to_arrow_table()
    database.unregister("given")
    wrong = [
        d for i, one in enumerate(found) for d in differences(one, one.duckdb(), data, answer.column(i).to_pylist())
    ]
    assert not wrong, "\n".join(wrong[:10])
    for i, one in enumerate(found):
        assert answer.schema.field(i).type == arrow_type(one.type), one.sql


def arrow_type(kind: Type) -> pa.DataType:
    if isinstance(kind, types.Decimal):
        return pa.decimal128(kind.precision, kind.scale)
    return SCALARS[kind]


SCALARS: dict[Type, pa.DataType] = {
    types.BOOL: pa.bool_(),
    types.INT: pa.int32(),
    types.LONG: pa.int64(),
    types.DOUBLE: pa.float64(),
    types.STRING: pa.string(),
    types.TIMESTAMP: pa.timestamp("us", "UTC"),
    types.DATE: pa.date32(),
}


def test_duckdb_and_python_agree_on_every_form(database: duckdb.DuckDBPyConnection) -> None:
    r = random.Random(1)
    for _ in range(3):
        compare_with_duckdb(database, every_form(r), rows(r, 60))


@settings(max_examples=tries(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_duckdb_and_python_agree_on_random_expressions(database: duckdb.DuckDBPyConnection, seed: int) -> None:
    r = random.Random(seed)
    compare_with_duckdb(database, [expression(r) for _ in range(5)], rows(r, 40))


@settings(max_examples=tries(200), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_canonical_text_means_the_same_expression(seed: int) -> None:
    found = expression(random.Random(seed))
    assert check(found.sql, COLUMNS, place="test", owner="test") == found


@pytest.mark.spark
def test_spark_and_python_agree_on_every_form_and_on_random_expressions(spark: Any) -> None:
    r = random.Random(7)
    compare_with_spark(spark, [*every_form(r), *(expression(r) for _ in range(50))], rows(r, 150))
    compare_with_spark(spark, [expression(r) for _ in range(200)], rows(r, 150))


def compare_with_spark(spark: Any, found: list[Expression], data: list[dict[str, Any]]) -> None:
    given = spark.createDataFrame(arrow_of(data)).coalesce(1)
    answer = given.selectExpr(*(f"{one.spark()} AS c{i}" for i, one in enumerate(found))).toArrow()
    wrong = [
        d for i, one in enumerate(found) for d in differences(one, one.spark(), data, answer.column(i).to_pylist())
    ]
    assert not wrong, "\n".join(wrong[:10])
    for i, one in enumerate(found):
        assert answer.schema.field(i).type == arrow_type(one.type), one.sql
