"""Streams that grow: which changes go through, and that an event is read for ever as it was read first."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pyarrow as pa
import pytest

from tarnbeck.cut import Cut
from tarnbeck.schema.ddl import parse
from tarnbeck.schema.decode import RECORDS, decode
from tarnbeck.schema.evolve import problems
from tarnbeck.schema.stream import Former, FromColumn, Json, Stream

BEFORE = "time timestamp, n int, price decimal(6,2)"
AFTER = "time timestamp, n bigint, note string, price decimal(10,2)"
WHEN = b'"time": "2026-11-15T12:00:00Z"'


def stream(schema: str, *former: Former) -> Stream:
    return Stream("s", parse(schema, place="s"), FromColumn("time"), None, "s", Json(), 2, True, former=former)


def records(*values: bytes, partition: int = 0, first: int = 0) -> pa.Table:
    count = len(values)
    offsets, none = list(range(first, first + count)), [None] * count
    columns = [[partition] * count, offsets, [0] * count, none, list(values), none]
    arrays = [pa.array(each, field.type) for each, field in zip(columns, RECORDS, strict=True)]
    return pa.Table.from_arrays(arrays, schema=RECORDS)


GROWN = stream(AFTER, Former(parse(BEFORE, place="s"), Cut.of("t", {0: 3})))
EVENTS = [
    b'{%s, "n": 1, "price": 1.50}' % WHEN,
    b'{%s, "n": 5000000000}' % WHEN,
    b'{%s, "n": 2, "note": "said before it was declared"}' % WHEN,
    b'{%s, "n": 5000000000, "note": "hello", "price": 12345.00}' % WHEN,
]


def test_an_event_is_read_as_its_stream_was_when_it_came() -> None:
    found = decode(GROWN, records(*EVENTS))
    assert found.events.select(["_offset", "n", "note", "price"]).to_pylist() == [
        {"_offset": 0, "n": 1, "note": None, "price": Decimal("1.50")},
        {"_offset": 2, "n": 2, "note": None, "price": None},
        {"_offset": 3, "n": 5_000_000_000, "note": "hello", "price": Decimal("12345.00")},
    ]
    assert found.rejects.column("_offset").to_pylist() == [1]
    assert found.events.column("_extra").to_pylist()[1] == [("note", '"said before it was declared"')]


def test_however_records_are_batched_they_give_the_same() -> None:
    whole = decode(GROWN, records(*EVENTS))
    parts = [decode(GROWN, records(value, first=place)) for place, value in enumerate(EVENTS)]
    assert pa.concat_tables([part.events for part in parts]).equals(whole.events)
    assert pa.concat_tables([part.rejects for part in parts]).equals(whole.rejects)


def test_a_partition_that_the_cut_does_not_name_is_of_today() -> None:
    assert decode(GROWN, records(EVENTS[2], partition=1)).events.column("note").to_pylist() != [None]


def test_a_stream_may_grow_again_and_again() -> None:
    more = replace(GROWN, schema=parse(AFTER + ", more double", place="s"))
    again = replace(more, former=(*GROWN.former, Former(GROWN.schema, Cut.of("t", {0: 4}))))
    found = decode(again, records(*EVENTS, b'{%s, "n": 3, "more": 0.5}' % WHEN)).events
    assert found.column("n").to_pylist() == [1, 2, 5_000_000_000, 3]
    assert found.column("more").to_pylist() == [None, None, None, 0.5]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a int", "a int, b string"),
        ("a int", "b string, a int"),
        ("a int", "a bigint"),
        ("a int", "a double"),
        ("a int", "a decimal(12,2)"),
        ("a bigint", "a decimal(21,2)"),
        ("a decimal(6,2)", "a decimal(8,4)"),
        ("a int not null", "a int"),
    ],
)
def test_what_adds_or_widens_goes_through(before: str, after: str) -> None:
    assert not list(problems(parse(before, place="s"), parse(after, place="s")))


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("a int, b int", "a int", "column 'b' is gone"),
        ("a int", "a int, b int not null", "is new and not null"),
        ("a int", "a int not null", "can't become not null"),
        ("a bigint", "a int", "bigint can't become int"),
        ("a bigint", "a double", "bigint can't become double"),
        ("a decimal(6,2)", "a decimal(6,3)", "old values might not fit"),
        ("a int", "a string", "int can't become string"),
        ("a struct<b: int>", "a struct<b: int, c: int>", "can't become"),
    ],
)
def test_anything_else_is_refused_with_the_reason(before: str, after: str, reason: str) -> None:
    (found,) = problems(parse(before, place="s"), parse(after, place="s"))
    assert reason in found
