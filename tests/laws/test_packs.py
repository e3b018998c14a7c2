"""The law of packs: however events are packed, the same ones are decoded and refused, but for where they stand."""

from __future__ import annotations

import datetime as dt
import decimal
import itertools
import math
import re
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tarnbeck.schema import cells, packs
from tarnbeck.schema.cast import decode_table
from tarnbeck.schema.ddl import arrow
from tarnbeck.schema.decode import RECORDS, Decoded, decode
from tarnbeck.schema.decoded import PLACES
from tarnbeck.schema.literal import ANY, OF_EVENTS
from tarnbeck.schema.packs import Pack
from tarnbeck.schema.rows import decode_rows
from tarnbeck.schema.stream import Arrival, Json, Stream
from tarnbeck.schema.types import Column, Schema
from tests.effort import tries
from tests.laws.test_decode import (
    BROKEN,
    NAMES,
    ODD,
    PLAIN,
    cases,
    columns,
    encoded,
    event_times,
    now_and_then,
    objects,
    scalars,
    types,
)

Place = tuple[int, int]
"""Which record, which place inside of it."""


def records_of(packed: list[bytes | Pack]) -> pa.Table:
    """One record for each, at the offsets from 0 of one partition."""
    rows = [
        {
            "partition": 0,
            "offset": at,
            "timestamp": dt.datetime(2026, 11, 15, tzinfo=dt.UTC),
            "key": None,
            "value": each.value if isinstance(each, Pack) else each,
            "content_type": each.content_type.encode() if isinstance(each, Pack) else None,
        }
        for at, each in enumerate(packed)
    ]
    return pa.Table.from_pylist(rows, schema=RECORDS)


def told(found: pa.Table, places: dict[Place, int]) -> list[tuple[int, dict[str, Any]]]:
    """Rows without their places, by the number of the event."""
    rows = []
    for row in found.to_pylist():
        number = places[row.pop("_offset"), row.pop("_index")]
        rows.append((number, row))
    return sorted(rows, key=lambda row: row[0])


def same(stream: Stream, one: Decoded, other: Decoded, places: dict[Place, int]) -> None:
    alone = {(at, 0): at for at in range(len(places))}
    for mine, theirs in ((one.events, other.events), (one.rejects, other.rejects)):
        assert mine.schema == theirs.schema
        mine.validate(full=True)
        # repr tells -0.0 from 0.0, which equality does not.
        assert repr(told(mine, places)) == repr(told(theirs, alone))


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    schema = Schema(draw(columns(types)))
    return Stream("s", schema, draw(event_times(schema)), None, "s", Json(), 2, True)


def events_of(stream: Stream) -> st.SearchStrategy[bytes]:
    """Texts without a line break, good and bad."""
    broken = st.one_of(st.sampled_from(BROKEN), ODD.map(encoded))
    whole = now_and_then(12).flatmap(lambda odd: broken if odd else objects(stream.schema.columns).map(encoded))
    return whole.filter(lambda text: bool(text) and b"\n" not in text)


@pytest.mark.long
@settings(max_examples=tries(120), deadline=None)
@given(st.data())
def test_lines_and_plain_records_in_any_mix_hold_the_same_events(data: st.DataObject) -> None:
    stream = data.draw(streams())
    events = data.draw(st.lists(events_of(stream), min_size=1, max_size=8))
    mixed, places, at = list[bytes | Pack](), dict[Place, int](), 0
    while at < len(events):
        count = data.draw(st.integers(1, len(events) - at))
        alone = count == 1 and data.draw(st.booleans())
        places |= {(len(mixed), index): at + index for index in range(count)}
        mixed.append(events[at] if alone else packs.of_lines(events[at : at + count]))
        at += count
    same(stream, decode(stream, records_of(mixed)), decode(stream, records_of(list(events))), places)


DAY = 86_400_000_000
ENDS = [end for years in (ANY, OF_EVENTS) for end in (years.first - 1, years.first, years.last, years.last + 1)]
MICROS = st.one_of(st.integers(-(10**17), 3 * 10**17), st.sampled_from(ENDS))
ODD_FLOATS = st.sampled_from([math.nan, math.inf, -math.inf, -0.0])
CELLS: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.null(): st.none(),
    pa.bool_(): st.booleans(),
    pa.int8(): st.integers(-(2**7), 2**7 - 1),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.int64(): st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-9, 9), st.integers(0, 2**41)),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.float32(): st.one_of(st.floats(width=32), ODD_FLOATS),
    pa.float64(): st.one_of(ODD_FLOATS, st.floats(), st.floats(0, 2e9), st.integers(-9, 9).map(float)),
    pa.decimal128(20, 0): st.integers(-(10**19), 10**19).map(decimal.Decimal),
    pa.decimal128(18, 2): st.integers(-(10**17), 10**17).map(lambda n: decimal.Decimal(n).scaleb(-2)),
    pa.decimal256(50, 4): st.integers(-(10**9), 10**9).map(lambda n: decimal.Decimal(n).scaleb(-4)),
    pa.string(): st.one_of(
        st.text(max_size=6),
        st.sampled_from(["2026-03-01T09:00:00Z", "2026-03-01 09:00", "2026-03-01", "aGk=", "1.5", "\x00\x1f\\"]),
    ),
    pa.large_string(): st.text(max_size=3),
    pa.binary(): st.binary(max_size=4),
    pa.binary(2): st.binary(min_size=2, max_size=2),
    pa.date32(): st.one_of(st.dates(), st.sampled_from([time // DAY for time in ENDS])),
    pa.date64(): st.one_of(st.dates(), st.sampled_from([time // DAY * 86_400_000 for time in ENDS])),
    pa.timestamp("us", "UTC"): MICROS,
    pa.timestamp("us"): MICROS,
    pa.timestamp("ns", "Europe/Berlin"): st.one_of(
        st.integers(0, 2**62), st.integers(0, 2**51).map(lambda n: n * 1000)
    ),
    pa.timestamp("s", "+01:00"): st.integers(-(10**11), 3 * 10**11),
    pa.dictionary(pa.int8(), pa.string()): st.sampled_from(["a", "b"]),
}
"""Values of every type that a pack can hold; times as numbers, for Python knows fewer years."""


def cells_of(kind: pa.DataType) -> st.SearchStrategy[Any]:
    if kind in CELLS:
        plain = CELLS[kind]
    elif pa.types.is_decimal(kind):
        most = 10**kind.precision - 1
        plain = st.integers(-most, most).map(lambda n: decimal.Decimal(n).scaleb(-kind.scale, decimal.Context(prec=80)))
    elif pa.types.is_struct(kind):
        plain = st.fixed_dictionaries({field.name: cells_of(field.type) for field in kind})
    elif pa.types.is_map(kind):
        plain = st.lists(st.tuples(st.text(max_size=1), cells_of(kind.item_type)), max_size=3)
    else:
        size = kind.list_size if pa.types.is_fixed_size_list(kind) else None
        plain = st.lists(cells_of(kind.value_type), min_size=size or 0, max_size=3 if size is None else size)
    return now_and_then(9).flatmap(lambda null: st.none() if null else plain)


def nested(inner: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[pa.DataType]:
    return st.one_of(
        inner.map(pa.list_),
        inner.map(pa.large_list),
        inner.map(lambda kind: pa.list_(kind, 2)),
        inner.map(lambda kind: pa.map_(pa.string(), kind)),
        st.lists(st.tuples(st.sampled_from(NAMES), inner), min_size=1, max_size=3).map(
            lambda fields: pa.struct(list({name: (name, kind) for name, kind in fields}.values()))
        ),
    )


kinds: st.SearchStrategy[pa.DataType] = st.recursive(st.sampled_from(list(CELLS)), nested, max_leaves=3)


@st.composite
def tables(draw: st.DrawFn, schema: Schema) -> pa.Table:
    """Mostly the declared types, now and then others, columns too many or too few."""
    there = [column for column in schema if not draw(now_and_then(20))]
    fields = [(column.name, draw(kinds) if draw(now_and_then(4)) else arrow(column.type)) for column in there]
    if draw(now_and_then(3)):
        fields.append((draw(st.sampled_from(["x", "a.b", "é"])), draw(st.one_of(st.sampled_from(list(CELLS)), kinds))))
    count = draw(st.integers(1, 5))
    made = [pa.array(draw(st.lists(cells_of(kind), min_size=count, max_size=count)), kind) for _, kind in fields]
    if not made:
        return pa.table({"x": pa.nulls(count)})
    return pa.Table.from_arrays(made, names=[name for name, _ in fields])


@st.composite
def lone_columns(draw: st.DrawFn) -> tuple[Stream, pa.Table]:
    """One declared scalar, as a column of its own type or of any other."""
    kind = draw(scalars)
    schema = Schema((Column("a", kind, draw(st.booleans())),))
    given_as = arrow(kind) if draw(st.booleans()) else draw(st.sampled_from(list(CELLS)))
    values = draw(st.lists(cells_of(given_as), min_size=1, max_size=2))
    stream = Stream("s", schema, draw(event_times(schema)), None, "s", Json(), 2, True)
    return stream, pa.table({"a": pa.array(values, given_as)})


@pytest.mark.long
@settings(max_examples=tries(120), deadline=None)
@given(lone_columns())
def test_every_cell_is_the_same_at_once_and_by_way_of_its_json(case: tuple[Stream, pa.Table]) -> None:
    check_agreement(*case)


@settings(max_examples=tries(120), deadline=None)
@given(st.data())
def test_what_an_arrow_table_gives_at_once_is_what_its_json_gives_row_by_row(data: st.DataObject) -> None:
    stream = data.draw(streams())
    table = packs.table(packs.of_table(data.draw(tables(stream.schema))).value)
    check_agreement(stream, table.slice(data.draw(st.integers(0, table.num_rows - 1))))


def check_agreement(stream: Stream, table: pa.Table) -> None:
    places = pa.Table.from_pylist(
        [
            {"partition": 0, "offset": 7, "timestamp": dt.datetime(2026, 1, 1, tzinfo=dt.UTC), "index": at}
            for at in range(table.num_rows)
        ],
        schema=PLACES,
    )
    fast = decode_table(stream, places, table)
    slow = decode_rows(stream, places.append_column("value", pa.array(cells.objects(table), pa.binary())))
    if fast is None:
        return
    fast.validate(full=True)
    assert slow.rejects.column("reason").to_pylist() == []
    assert repr(fast.to_pylist()) == repr(slow.events.to_pylist())
    assert fast.schema == slow.events.schema


@settings(max_examples=tries(100), deadline=None)
@given(scalars.flatmap(lambda kind: st.tuples(st.just(kind), cells_of(arrow(kind)))))
def test_every_value_of_a_declared_type_is_taken_at_once_or_refused_with_a_reason(case: tuple[Any, Any]) -> None:
    kind, value = case
    stream = Stream("s", Schema((Column("a", kind),)), Arrival(), None, "s", Json(), 2, True)
    found = decode(stream, records_of([packs.of_table(pa.table({"a": pa.array([value], arrow(kind))}))]))
    if found.rejects.num_rows:
        assert re.match(r"a: ", found.rejects.column("reason")[0].as_py())
    else:
        assert found.events.num_rows == 1


@pytest.mark.long
@settings(max_examples=tries(80), deadline=None)
@given(st.data())
def test_packs_of_all_kinds_in_any_mix_hold_what_their_events_hold_alone(data: st.DataObject) -> None:
    """Also: an event that is refused and sent again alone is refused for the same reason."""
    stream = data.draw(streams())
    mixed, alone, places = list[bytes | Pack](), list[bytes](), dict[Place, int]()
    for _ in range(data.draw(st.integers(1, 4))):
        table = data.draw(st.one_of(st.none(), tables(stream.schema)))
        if table is None:
            events = data.draw(st.lists(events_of(stream), min_size=1, max_size=3))
            packed: bytes | Pack = packs.of_lines(events) if len(events) > 1 else events[0]
        else:
            events, packed = cells.objects(table), packs.of_table(table)
        places |= {(len(mixed), index): len(alone) + index for index in range(len(events))}
        mixed.append(packed)
        alone += events
    found = decode(stream, records_of(mixed))
    same(stream, found, decode(stream, records_of(list(alone))), places)
    for row in found.rejects.to_pylist():
        (again,) = decode(stream, records_of([row["value"]])).rejects.column("reason").to_pylist()
        assert again == row["reason"]


@settings(max_examples=tries(30), deadline=None)
@given(cases(), st.data())
def test_batches_of_packs_make_no_difference(case: tuple[Stream, pa.Table], data: st.DataObject) -> None:
    stream, records = case
    lines = [each for each in records.column("value").to_pylist() if each and b"\n" not in each]
    table = data.draw(tables(stream.schema))
    mixed = [
        packs.of_lines(lines),
        packs.of_table(table),
        *lines,
        Pack(b"no arrow", packs.ARROW),
        packs.of_table(table),
    ]
    found = records_of(data.draw(st.permutations(mixed)))
    split = data.draw(st.integers(0, found.num_rows))
    whole = decode(stream, found)
    parts = [decode(stream, found.slice(0, split)), decode(stream, found.slice(split))]
    assert repr(whole.events.to_pylist()) == repr(pa.concat_tables([part.events for part in parts]).to_pylist())
    assert repr(whole.rejects.to_pylist()) == repr(pa.concat_tables([part.rejects for part in parts]).to_pylist())


@settings(max_examples=tries(50), deadline=None)
@given(st.data())
def test_plain_tables_are_decoded_at_once(data: st.DataObject) -> None:
    schema = Schema(tuple(Column(f"c{at}", column_type) for at, column_type in enumerate(PLAIN)))
    stream = Stream("s", schema, Arrival(), None, "s", Json(), 2, True)
    text = "{" + ",".join(f'"c{at}":{data.draw(values)}' for at, values in enumerate(PLAIN.values())) + "}"
    event = decode(stream, records_of([text.encode()])).events
    places = pa.Table.from_pylist([{"timestamp": 0, "partition": 0, "offset": 0, "index": 0}], schema=PLACES)
    assert decode_table(stream, places, event.select(list(schema.names))) is not None


def test_many_packs_are_numbered_from_zero_each() -> None:
    stream = Stream("s", Schema((Column("n", next(iter(PLAIN))),)), Arrival(), None, "s", Json(), 2, True)
    sizes = [3, 1, 2]
    mixed: list[bytes | Pack] = [
        packs.of_table(pa.table({"n": [True] * size})) if size != 2 else packs.of_lines([b'{"n":true}'] * size)
        for size in sizes
    ]
    found = decode(stream, records_of(mixed)).events
    wanted = list(itertools.chain(*([(at, index) for index in range(size)] for at, size in enumerate(sizes))))
    assert list(zip(*(found.column(name).to_pylist() for name in ("_offset", "_index")), strict=True)) == wanted
