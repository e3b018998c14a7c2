"""Decoding: what becomes an event, what is refused and why."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from decimal import Decimal

import pyarrow as pa
import pytest

from tarnbeck.schema.ddl import parse
from tarnbeck.schema.decode import RECORDS, REJECTS, Decoded, decode, events_schema
from tarnbeck.schema.fast import decode_batch
from tarnbeck.schema.packs import plain
from tarnbeck.schema.stream import Arrival, EventTime, FromColumn, Json, Stream

RECEIVED = dt.datetime(2026, 11, 15, 12, 0, 1, tzinfo=dt.UTC)


def stream_of(schema: str, time: EventTime | None = None) -> Stream:
    return Stream("s", parse(schema), time or Arrival(), None, "s", Json(), 2, True)


def records_of(*values: bytes | None, received: dt.datetime | None = RECEIVED) -> pa.Table:
    rows = [
        {"partition": 1, "offset": 10 + at, "timestamp": received, "key": b"k", "value": value}
        for at, value in enumerate(values)
    ]
    return pa.Table.from_pylist(rows, schema=RECORDS)


def one(schema: str, json: bytes | None, time: EventTime | None = None) -> Decoded:
    return decode(stream_of(schema, time), records_of(json))


def value_of(column_type: str, json: bytes) -> object:
    found = one(f"a {column_type}", b'{"a":' + json + b"}")
    assert found.rejects.column("reason").to_pylist() == []
    return found.events.column("a").to_pylist()[0]


def reason_of(column_type: str, json: bytes) -> str:
    return whole_reason(f"a {column_type}", b'{"a":' + json + b"}")


def whole_reason(schema: str, json: bytes | None, time: EventTime | None = None) -> str:
    found = one(schema, json, time)
    assert found.events.num_rows == 0
    reason = found.rejects.column("reason").to_pylist()[0]
    assert isinstance(reason, str)
    return reason


def test_an_event_carries_its_place_its_times_and_its_columns() -> None:
    stream = stream_of("time timestamp, price decimal(18,2)", FromColumn("time"))
    found = decode(stream, records_of(b'{"time":"2026-11-15T12:00:00.123Z","price":1.5}'))
    time = dt.datetime(2026, 11, 15, 12, 0, 0, 123000, tzinfo=dt.UTC)
    assert found.events.schema == events_schema(stream)
    assert found.events.to_pylist() == [
        {
            "_partition": 1,
            "_offset": 10,
            "_index": 0,
            "_received": RECEIVED,
            "_time": time,
            "time": time,
            "price": Decimal("1.50"),
            "_extra": None,
        }
    ]


def test_a_record_that_is_refused_is_kept_whole() -> None:
    found = one("a int", b"{")
    assert found.rejects.schema == REJECTS
    assert found.rejects.to_pylist() == [
        {
            "_partition": 1,
            "_offset": 10,
            "_index": 0,
            "_received": RECEIVED,
            "key": b"k",
            "value": b"{",
            "reason": "not JSON: ends too early",
        }
    ]


def test_no_records_give_no_events_and_no_rejects() -> None:
    stream = stream_of("a int")
    found = decode(stream, RECORDS.empty_table())
    assert (found.events.schema, found.events.num_rows) == (events_schema(stream), 0)
    assert (found.rejects.schema, found.rejects.num_rows) == (REJECTS, 0)


def test_a_bad_record_among_many_leaves_the_others_in_their_order() -> None:
    values: list[bytes | None] = [b'{"a":%d}' % at for at in range(20_000)]
    values[7] = b"null"
    values[9_000] = b'{"a":"x"}'
    values[19_999] = None
    found = decode(stream_of("a int"), records_of(*values))
    assert found.events.column("a").to_pylist() == [at for at in range(20_000) if at not in (7, 9_000, 19_999)]
    assert found.rejects.select(["_offset", "reason"]).to_pylist() == [
        {"_offset": 17, "reason": "not an object, but null"},
        {"_offset": 9_010, "reason": 'a: expected int, found string "x"'},
        {"_offset": 20_009, "reason": "no value"},
    ]


@pytest.mark.parametrize(
    ("json", "reason"),
    [
        (None, "no value"),
        (b"", "not JSON: empty"),
        (b" \n", "not JSON: empty"),
        (b"{", "not JSON: ends too early"),
        (b'{"a":1} x', 'not JSON: can\'t read "x" at character 8'),
        (b'{"a":1}{"a":2}', 'not JSON: can\'t read "{\\"a\\":2}" at character 7'),
        (b'{"a":01}', 'not JSON: can\'t read "1}" at character 6'),
        (b"\xef\xbb\xbf{}", 'not JSON: can\'t read "\ufeff{}" at character 0'),
        (b"null", "not an object, but null"),
        (b"[1]", "not an object, but an array"),
        (b'"\\ud800"', "bad text: lone surrogate \\ud800"),
        (b'{"\xff":1}', "bad UTF-8 at byte 2"),
        (b'{"a":1,"a":1}', "duplicate key 'a'"),
        (b'{"a":1,"\\u0061":1}', "duplicate key 'a'"),
        (b'{"z":{"b":1,"b":2}}', "duplicate key 'b'"),
        (b'{"z":NaN}', "z: NaN"),
        (b'{"z":[{"y":-Infinity}]}', "z: -Infinity"),
        (b'{"z":"\\udc00"}', "bad text: lone surrogate \\udc00"),
        (b'{"z":"' + b"x" * (1 << 20) + b'"}', "larger than 1 MiB"),
        (b'{"z":' + b"[" * 64 + b"]" * 64 + b"}", "nested deeper than 64"),
        (b'{"a":' * 100_000, "nested deeper than 64"),
        (b"[" * (1 << 20), "nested deeper than 64"),
    ],
)
def test_what_is_no_json_object_is_refused_with_the_reason(json: bytes | None, reason: str) -> None:
    assert whole_reason("a int", json) == reason


def test_brackets_inside_texts_are_no_nesting() -> None:
    assert value_of("string", b'"' + b"[" * 100 + b'\\"{"') == "[" * 100 + '"{'


@pytest.mark.parametrize(
    ("column_type", "json", "value"),
    [
        ("boolean", b"true", True),
        ("int", b"-2147483648", -(2**31)),
        ("int", b"-0", 0),
        ("bigint", b"9223372036854775807", 2**63 - 1),
        ("double", b"1", 1.0),
        ("double", b"1e-400", 0.0),
        ("double", b"9007199254740993", 9007199254740992.0),
        ("double", b"123456789012345678901234567890", 123456789012345678901234567890.0),
        ("decimal(18,2)", b"1.230", Decimal("1.23")),
        ("decimal(18,2)", b"12e1", Decimal("120.00")),
        ("decimal(18,2)", b'"1.5"', Decimal("1.50")),
        ("decimal(18,2)", b"0." + b"0" * 500, Decimal("0.00")),
        ("decimal(38,10)", b"9999999999999999999999999999.5", Decimal("9999999999999999999999999999.5")),
        ("string", b'"\\u0000\\ud83d\\ude00"', "\x00\U0001f600"),
        ("string", b'"\xc3\xa4"', "ä"),
        ("timestamp", b'"2026-11-15T12:00:00+01:30"', dt.datetime(2026, 11, 15, 10, 30, tzinfo=dt.UTC)),
        ("timestamp", b'"2026-11-15 12:00Z"', dt.datetime(2026, 11, 15, 12, tzinfo=dt.UTC)),
        ("timestamp", b'"0001-01-01T00:00:00Z"', dt.datetime(1, 1, 1, tzinfo=dt.UTC)),
        ("date", b'"2024-02-29"', dt.date(2024, 2, 29)),
        ("binary", b'"aGk="', b"hi"),
        ("struct<b: int, c: string>", b'{"b":1}', {"b": 1, "c": None}),
        ("struct<b: int>", b"null", None),
        ("array<int>", b"[1,null]", [1, None]),
        ("map<string, int>", b'{"x":1,"y":null}', [("x", 1), ("y", None)]),
        ("map<string, int>", b"{}", []),
    ],
)
def test_a_fitting_value_is_taken_as_it_is(column_type: str, json: bytes, value: object) -> None:
    assert value_of(column_type, json) == value


@pytest.mark.parametrize(
    ("column_type", "json", "reason"),
    [
        ("boolean", b"1", "a: expected boolean, found number 1"),
        ("int", b"1.0", "a: expected int, found number 1.0"),
        ("int", b"1e3", "a: expected int, found number 1e3"),
        ("int", b'"1"', 'a: expected int, found string "1"'),
        ("int", b"true", "a: expected int, found boolean true"),
        ("int", b"3000000000", "a: 3000000000 is out of range for int"),
        ("bigint", b"9" * 5000, "a: " + "9" * 77 + "... is out of range for bigint"),
        ("double", b"NaN", "a: NaN"),
        ("double", b"1e400", "a: 1e400 is out of range for double"),
        ("double", b"1.7976931348623159e308", "a: 1.7976931348623159e308 is out of range for double"),
        ("decimal(18,2)", b'"abc"', 'a: expected decimal(18,2), found string "abc"'),
        ("decimal(18,2)", b"1.234", "a: 1.234 does not fit decimal(18,2)"),
        ("decimal(18,2)", b"10000000000000000", "a: 10000000000000000 does not fit decimal(18,2)"),
        ("decimal(38,10)", b"1" + b"0" * 30, "a: 1" + "0" * 30 + " does not fit decimal(38,10)"),
        ("decimal(18,2)", b"1e999999999", "a: 1e999999999 does not fit decimal(18,2)"),
        ("decimal(18,2)", b"1e-999999999", "a: 1e-999999999 does not fit decimal(18,2)"),
        ("string", b"1", "a: expected string, found number 1"),
        ("timestamp", b'"2026-01-01T00:00:00"', "a: no time zone in '2026-01-01T00:00:00'"),
        ("timestamp", b'"2026-02-30T00:00:00Z"', "a: no such time: '2026-02-30T00:00:00Z'"),
        ("timestamp", b'"2026-01-01"', 'a: expected timestamp, found string "2026-01-01"'),
        (
            "timestamp",
            b'"2026-01-01T00:00:00.1234567Z"',
            "a: more than 6 fractional digits in '2026-01-01T00:00:00.1234567Z'",
        ),
        (
            "timestamp",
            b'"0001-01-01T00:00:00+01:00"',
            "a: '0001-01-01T00:00:00+01:00' is outside the years 0001 to 9999",
        ),
        ("timestamp", b"5", "a: expected timestamp, found number 5"),
        ("date", b'"2026-02-30"', "a: no such date: '2026-02-30'"),
        ("date", b'"0000-01-01"', "a: no such date: '0000-01-01'"),
        ("binary", b'"aGk"', 'a: expected base64, found string "aGk"'),
        ("struct<b: array<struct<c: int>>>", b'{"b":[{},{"c":"x"}]}', 'a.b[1].c: expected int, found string "x"'),
        ("struct<b: int not null>", b"{}", "a.b: missing"),
        ("map<string, int>", b'{"k":true}', "a.k: expected int, found boolean true"),
        ("array<int>", b"{}", "a: expected an array, found an object"),
    ],
)
def test_an_unfit_value_is_refused_with_column_and_reason(column_type: str, json: bytes, reason: str) -> None:
    assert reason_of(column_type, json) == reason


def test_a_column_that_must_be_there_is_missed() -> None:
    assert whole_reason("a int not null", b"{}") == "a: missing"
    assert whole_reason("a int not null", b'{"a":null}') == "a: null"


@pytest.mark.parametrize("json", [b"-0.0", b"-0", b"-1e-400"])
def test_there_is_only_one_zero(json: bytes) -> None:
    assert str(value_of("double", json)) == "0.0"
    assert str(value_of("array<double>", b"[%s]" % json)) == "[0.0]"


def test_unknown_fields_are_kept_as_their_own_text() -> None:
    json = b'{"z":[1.50, {"y" : -0}],"a":{"b":1,"q":"\xc3\xa4","w":null},"l":[{},{"x":1e5}]}'
    found = one("a struct<b: int>, l array<struct<c: int>>", json)
    assert found.events.column("_extra").to_pylist() == [
        [("a.q", '"ä"'), ("a.w", "null"), ("l[1].x", "1e5"), ("z", '[1.50,{"y":0}]')]
    ]


def test_two_unknown_fields_of_one_path_are_refused() -> None:
    assert whole_reason("a struct<b: int>", b'{"a.q":1,"a":{"q":2}}') == "duplicate key 'a.q'"


def test_a_reason_stays_short_however_long_the_event() -> None:
    assert len(whole_reason("a int", b'{"' + b"x" * 100_000 + b'":NaN}')) <= 300


def test_spaces_and_line_ends_around_and_inside_do_not_slow_decoding_down() -> None:
    found = decode_batch(stream_of("a int"), plain(records_of(b'{"a":1}\r\n', b'\n {\n "a" :\t2\n}', b'{"a":3}')))
    assert found is not None
    assert found.column("a").to_pylist() == [1, 2, 3]


def test_values_are_joined_without_running_into_each_other() -> None:
    stream = stream_of("a int")
    assert decode_batch(stream, plain(records_of(b'{"a":1}{"a":2}', b"{}"))) is None
    assert decode_batch(stream, plain(records_of(b'{"a":1', b'"b":2}'))) is None
    found = decode(stream, records_of(b'{"a":1} null', b'{"a":2}', b" ", b'{"a":3}{"a":4}'))
    assert found.events.column("a").to_pylist() == [2]
    assert found.rejects.num_rows == 3


def test_the_usual_events_are_decoded_at_once() -> None:
    stream = stream_of(
        "time timestamp, c string, p decimal(18,2), v double, q int, a struct<b: array<date>>", FromColumn("time")
    )
    value = (
        b'{"time":"2026-11-15T12:00:00.123Z","c":"3e12-1e-45","p":1.5,"v":1e-05,"q":3,"a":{"b":["2026-01-01",null]}}'
    )
    assert decode_batch(stream, plain(records_of(value, value))) is not None


CRASHERS = [b"null", b'{"a":"5e-2147483647"}', b'{"a":5e-2147483647}', b'{"a":"\\u0035\\u0065-2147483647"}']
CRASHERS += [
    b'{"a":[' + b"[" * 100_000,
    b'{"a":"5\\u0065-99999"}',
    b'{"a":1}null',
    b"{}null{}",
    b'{"a": \t"-.5E-00999"}',
]


def test_no_text_brings_the_process_down() -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from tests.schema.test_decode import CRASHERS, records_of, stream_of\n"
        "from tarnbeck.schema.decode import decode\n"
        "for value in CRASHERS:\n"
        "    assert decode(stream_of('a decimal(18,2)'), records_of(value)).rejects.num_rows == 1, value\n"
    )
    root = __file__.rsplit("/tests/", 1)[0]
    assert subprocess.run([sys.executable, "-c", program, root], check=False, cwd=root).returncode == 0
