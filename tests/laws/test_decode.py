"""The law of decoding: at once or row by row, in whatever batches, the same records give the same events."""

from __future__ import annotations

import datetime as dt
import decimal
import json

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tarnbeck.schema.decode import RECORDS, decode
from tarnbeck.schema.fast import decode_batch
from tarnbeck.schema.literal import OF_EVENTS
from tarnbeck.schema.packs import plain
from tarnbeck.schema.rows import decode_rows
from tarnbeck.schema.stream import Arrival, Epoch, EventTime, FromColumn, Json, Stream
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
    Type,
)
from tests.effort import tries

DIGITS = st.text("0123456789", min_size=1, max_size=45)
WHOLE = st.one_of(st.integers(-(2**65), 2**65).map(str), st.integers(-20, 20).map(str), st.just("-0"))
EXPONENTS = st.one_of(
    st.just(""), st.builds("{}{}{}".format, st.sampled_from("eE"), st.sampled_from(["", "+", "-"]), DIGITS)
)
NUMBERS = st.one_of(
    WHOLE,
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(allow_nan=False, allow_infinity=False, places=2).map(lambda d: format(d, "f")),
    st.builds("{}.{}".format, WHOLE, DIGITS),
    st.builds("{}.{}{}".format, st.integers(-99, 99), DIGITS, EXPONENTS),
    st.builds("{}{}".format, WHOLE, EXPONENTS),
    st.sampled_from(["NaN", "Infinity", "-Infinity", "Inf", "1.", ".5", "+1", "01", "1e400", "1.7976931348623159e308"]),
)
LOOSE_DECIMALS = st.from_regex(r"\A[+-]?[0-9]{0,40}\.?[0-9]{0,40}([eE][+-]?[0-9]{1,3})?\Z").map(json.dumps)
TIMES = st.one_of(
    st.datetimes().map(lambda t: t.isoformat() + "Z"),
    st.datetimes().map(str),
    st.from_regex(
        r"\A(2026|0000|0001|0002|9998|9999)-(01|02|12|13)-(01|29|31|00)[T ](00|12|23|24)"
        r"(:(00|59|60)(:(00|59|60)(\.[0-9]{0,7})?)?)?"
        r"(Z|z| Z|[+-](00|01|14|23|24)(:?(00|30|59|60))?)?\Z"
    ),
).map(json.dumps)
DATES = st.one_of(st.dates().map(str), st.from_regex(r"\A[0-9]{4}-[01][0-9]-[0-3][0-9]\Z")).map(json.dumps)
TEXTS = st.one_of(
    st.text(max_size=8).map(lambda t: json.dumps(t, ensure_ascii=False)),
    st.text(max_size=8).map(json.dumps),
    st.sampled_from(['"\\ud800"', '"\\ude00\\ud83d"', '"\\u0000"', '"\t"', '"\\x"', '"\\/"', '"', '"}null{"']),
)
BASE64 = st.one_of(
    st.from_regex(r"\A[A-Za-z0-9+/]{0,9}={0,3}\Z").map(json.dumps), st.sampled_from(['"aGk="', '"a GK="'])
)
ODD = st.one_of(
    NUMBERS, TEXTS, TIMES, st.sampled_from(["null", "true", "false", "{}", "[]", "", "{", "True", "[[1]]", "/**/1"])
)

EDGES: dict[Type, st.SearchStrategy[str]] = {
    BOOL: st.sampled_from(["true", "false"]),
    INT: st.one_of(st.integers(-(2**31), 2**31 - 1).map(str), WHOLE),
    LONG: st.one_of(st.integers(-(2**63), 2**63 - 1).map(str), WHOLE),
    DOUBLE: NUMBERS,
    STRING: TEXTS,
    TIMESTAMP: TIMES,
    DATE: DATES,
    BINARY: BASE64,
}
EPOCHS = st.sampled_from([OF_EVENTS.first, OF_EVENTS.last]).flatmap(
    lambda end: st.builds(
        "{}".format, st.integers(-1, 1).map(lambda off: end + off) | st.sampled_from([end // 1000, end * 1000])
    )
)
EDGES[LONG] |= EPOCHS
EDGES[DOUBLE] |= EPOCHS
PLAIN: dict[Type, st.SearchStrategy[str]] = {
    BOOL: st.sampled_from(["true", "false"]),
    INT: st.integers(-(2**31), 2**31 - 1).map(str),
    LONG: st.integers(-(2**63), 2**63 - 1).map(str),
    DOUBLE: st.floats(allow_nan=False, allow_infinity=False).map(repr),
    STRING: st.text(max_size=8).map(json.dumps),
    TIMESTAMP: st.datetimes(min_value=dt.datetime(1, 1, 3)).map(lambda t: f'"{t.isoformat()}Z"'),
    DATE: st.dates().map(lambda d: f'"{d}"'),
    BINARY: st.just('"aGk="'),
}
NAMES = ("a", "b", "c")
BROKEN = [b"\xff", b"", b'{"a":"\xff"}', b'{"a":1}{"a":2}', b'{"a":1} null']
Exact = decimal.Decimal
DEEP = decimal.Context(prec=60)

decimals = st.integers(1, 38).flatmap(lambda p: st.builds(Decimal, st.just(p), st.integers(0, p)))
scalars: st.SearchStrategy[Type] = st.one_of(st.sampled_from(list(EDGES)), decimals, st.just(Decimal(18, 2)))


def columns(types: st.SearchStrategy[Type]) -> st.SearchStrategy[tuple[Column, ...]]:
    return st.integers(1, 3).flatmap(
        lambda count: st.tuples(*(st.builds(Column, st.just(NAMES[at]), types, st.booleans()) for at in range(count)))
    )


types: st.SearchStrategy[Type] = st.recursive(
    scalars,
    lambda inner: st.one_of(st.builds(Array, inner), st.builds(Struct, columns(inner)), st.builds(Map, inner)),
    max_leaves=4,
)


def values(column_type: Type) -> st.SearchStrategy[str]:
    """JSON texts for a type: mostly plain, often at its edges, now and then anything."""
    match column_type:
        case Array(element):
            plain = st.lists(values(element), max_size=3).map(lambda items: "[" + ", ".join(items) + "]")
        case Map(value):
            plain = st.lists(st.tuples(TEXTS, values(value)), max_size=2).map(write)
        case Struct(members):
            plain = objects(members)
        case _:
            plain = now_and_then(8).flatmap(lambda edge: edges(column_type) if edge else plain_scalar(column_type))
    return now_and_then(60).flatmap(lambda odd: ODD if odd else plain)


def now_and_then(one_in: int) -> st.SearchStrategy[bool]:
    """True once in so many; the middle of the range, because Hypothesis loves its ends."""
    return st.integers(0, one_in - 1).map(lambda dice: dice == one_in // 2)


def plain_scalar(column_type: Type) -> st.SearchStrategy[str]:
    if isinstance(column_type, Decimal):
        most, scale = 10**column_type.precision - 1, column_type.scale
        return st.integers(-most, most).map(lambda unscaled: f"{Exact(unscaled).scaleb(-scale, DEEP):f}")
    return PLAIN[column_type]


def edges(column_type: Type) -> st.SearchStrategy[str]:
    if isinstance(column_type, Decimal):
        most, scale = 10**column_type.precision, column_type.scale
        return st.one_of(st.integers(-most, most).map(lambda n: f"{n}e-{scale}"), NUMBERS, LOOSE_DECIMALS)
    return EDGES[column_type]


def write(members: list[tuple[str, str]]) -> str:
    return "{" + ",".join(f"{name}:{value}" for name, value in members) + "}"


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def objects(members: tuple[Column, ...]) -> st.SearchStrategy[str]:
    return st.tuples(*(member(column) for column in members), unknown).flatmap(
        lambda parts: st.permutations([pair for part in parts for pair in part]).map(write)
    )


def member(column: Column) -> st.SearchStrategy[list[tuple[str, str]]]:
    name = f'"{column.name}"'
    there = values(column.type).map(lambda value: [(name, value)])
    left_out = now_and_then(6 if column.nullable else 60)
    return left_out.flatmap(lambda out: st.sampled_from([[], [(name, "null")]]) if out else there)


unknown: st.SearchStrategy[list[tuple[str, str]]] = now_and_then(60).flatmap(
    lambda there: st.tuples(TEXTS, ODD).map(lambda pair: [pair]) if there else st.just([])
)


def event_times(schema: Schema) -> st.SearchStrategy[EventTime]:
    choices: list[st.SearchStrategy[EventTime]] = [st.just(Arrival())]
    for column in schema:
        if column.type == TIMESTAMP:
            zones = st.sampled_from([None, "Europe/Berlin", "America/New_York", "Asia/Kathmandu"])
            choices.append(st.builds(FromColumn, st.just(column.name), zones))
        elif column.type in (INT, LONG, DOUBLE) or isinstance(column.type, Decimal):
            choices.append(st.builds(Epoch, st.just(column.name), st.sampled_from(["s", "ms", "us", "ns"])))
    return st.one_of(choices)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Stream, pa.Table]:
    schema = Schema(draw(columns(types)))
    stream = Stream("s", schema, draw(event_times(schema)), None, "s", Json(), 2, True)
    found = draw(st.lists(objects(schema.columns).map(encoded), min_size=1, max_size=4))
    if draw(now_and_then(10)):
        found[0] = b" " + found[0] + b"\r\n"
    if draw(now_and_then(15)):
        found[-1] = draw(
            st.one_of(st.sampled_from(BROKEN), ODD.map(lambda text: text.encode("utf-8", "surrogatepass")))
        )
    return stream, records_of(found)


def records_of(values: list[bytes]) -> pa.Table:
    count = len(values)
    whole = [range(count), range(count), range(count), [None] * count, values, [None] * count]
    return pa.Table.from_arrays(
        [pa.array(column, field.type) for column, field in zip(whole, RECORDS, strict=True)], schema=RECORDS
    )


@settings(max_examples=tries(150), deadline=None)
@given(scalars.flatmap(lambda column_type: st.tuples(st.just(column_type), edges(column_type))))
def test_every_edge_of_a_type_is_the_same_at_once_and_row_by_row(case: tuple[Type, str]) -> None:
    column_type, value = case
    stream = Stream("s", Schema((Column("a", column_type),)), Arrival(), None, "s", Json(), 2, True)
    check_agreement(stream, records_of([encoded(f'{{"a":{value}}}')]))


@settings(max_examples=tries(120), deadline=None)
@given(st.data())
def test_the_edges_of_an_event_time_are_the_same_at_once_and_row_by_row(data: st.DataObject) -> None:
    column_type = data.draw(st.sampled_from([TIMESTAMP, LONG, DOUBLE, Decimal(30, 3)]))
    schema = Schema((Column("a", column_type),))
    stream = Stream("s", schema, data.draw(event_times(schema)), None, "s", Json(), 2, True)
    value = data.draw(TIMES if column_type == TIMESTAMP else EPOCHS)
    check_agreement(stream, records_of([encoded(f'{{"a":{value}}}')]))


@settings(max_examples=tries(120), deadline=None)
@given(cases())
def test_what_is_decoded_at_once_is_what_is_decoded_row_by_row(case: tuple[Stream, pa.Table]) -> None:
    check_agreement(*case)


def check_agreement(stream: Stream, records: pa.Table) -> None:
    entries = plain(records)
    fast = decode_batch(stream, entries)
    if fast is None:
        return
    slow = decode_rows(stream, entries)
    assert slow.rejects.column("reason").to_pylist() == []
    fast.validate(full=True)
    # repr tells -0.0 from 0.0, which equality does not.
    assert repr(fast.to_pylist()) == repr(slow.events.to_pylist())
    assert fast.schema == slow.events.schema


@settings(max_examples=tries(60), deadline=None)
@given(cases(), st.data())
def test_batches_make_no_difference(case: tuple[Stream, pa.Table], data: st.DataObject) -> None:
    stream, records = case
    split = data.draw(st.integers(0, records.num_rows))
    whole = decode(stream, records)
    parts = [decode(stream, records.slice(0, split)), decode(stream, records.slice(split))]
    assert whole.events.to_pylist() == pa.concat_tables([part.events for part in parts]).to_pylist()
    assert whole.rejects.to_pylist() == pa.concat_tables([part.rejects for part in parts]).to_pylist()
    assert whole.events.num_rows + whole.rejects.num_rows == records.num_rows


@settings(max_examples=tries(50), deadline=None)
@given(st.data())
def test_plain_events_are_decoded_at_once(data: st.DataObject) -> None:
    schema = Schema(tuple(Column(f"c{at}", column_type) for at, column_type in enumerate(PLAIN)))
    stream = Stream("s", schema, Arrival(), None, "s", Json(), 2, True)
    event = write([(f'"c{at}"', data.draw(values)) for at, values in enumerate(PLAIN.values())])
    assert decode_batch(stream, plain(records_of([event.encode()]))) is not None
