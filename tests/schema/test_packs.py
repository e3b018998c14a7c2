"""Packed records: what they hold, and what is refused, event by event or as a whole."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tarnbeck.errors import UsageError
from tarnbeck.schema import cells, packs
from tarnbeck.schema.conform import conform
from tarnbeck.schema.ddl import parse
from tarnbeck.schema.decode import RECORDS, Decoded, decode
from tarnbeck.schema.packs import ARROW, NDJSON, Kind, Pack, kind_of
from tarnbeck.schema.stream import Arrival, EventTime, FromColumn, Json, Stream
from tarnbeck.schema.strict import Reject

RECEIVED = dt.datetime(2026, 11, 15, 12, tzinfo=dt.UTC)
TIME = FromColumn("time")


def stream_of(schema: str, time: EventTime | None = None) -> Stream:
    return Stream("s", parse(schema), time or Arrival(), None, "s", Json(), 2, True)


def decoded(stream: Stream, *packed: Pack | None, key: bytes | None = None) -> Decoded:
    rows = [
        {
            "partition": 1,
            "offset": 10 + at,
            "timestamp": RECEIVED,
            "key": key,
            "value": each and each.value,
            "content_type": each and each.content_type.encode(),
        }
        for at, each in enumerate(packed)
    ]
    return decode(stream, pa.Table.from_pylist(rows, schema=RECORDS))


def zipped(table: pa.Table, codec: str) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def refused(stream: Stream, pack: Pack) -> list[tuple[int | None, str]]:
    rejects = decoded(stream, pack).rejects
    return list(zip(rejects.column("_index").to_pylist(), rejects.column("reason").to_pylist(), strict=True))


def test_a_content_type_may_have_parameters_and_any_case() -> None:
    assert kind_of(b"Application/X-NDJSON; charset=utf-8") is Kind.LINES
    assert kind_of(b" application/vnd.apache.arrow.stream ") is Kind.ARROW


@pytest.mark.parametrize("other", [None, b"", b"application/json", b"application/avro", b"\xff\xfe"])
def test_what_other_producers_call_their_records_changes_nothing(other: bytes | None) -> None:
    assert kind_of(other) is Kind.PLAIN
    row = {"partition": 0, "offset": 0, "timestamp": RECEIVED, "value": b'{"a":1}', "content_type": other}
    found = decode(stream_of("a int"), pa.Table.from_pylist([row], schema=RECORDS))
    assert found.events.column("a").to_pylist() == [1]


def test_a_bad_line_is_refused_alone_with_its_own_bytes() -> None:
    found = decoded(stream_of("a int"), Pack(b'{"a":1}\n{"a":"x"}\n\n{"a":3}\r\n', NDJSON), key=b"k")
    assert found.events.select(["_partition", "_offset", "_index", "a"]).to_pylist() == [
        {"_partition": 1, "_offset": 10, "_index": 0, "a": 1},
        {"_partition": 1, "_offset": 10, "_index": 2, "a": 3},
    ]
    assert found.rejects.to_pylist() == [
        {
            "_partition": 1,
            "_offset": 10,
            "_index": 1,
            "_received": RECEIVED,
            "key": b"k",
            "value": b'{"a":"x"}',
            "reason": 'a: expected int, found string "x"',
        }
    ]


def test_a_pack_without_a_value_or_without_events_is_no_failure() -> None:
    empty = packs.of_table(pa.table({"a": pa.array([], pa.int32())}))
    found = decoded(stream_of("a int"), None, Pack(b"\n", NDJSON), empty, Pack(b"", NDJSON))
    assert (found.events.num_rows, found.rejects.column("reason").to_pylist()) == (0, ["no value"])


def test_columns_that_are_not_declared_are_kept_as_json() -> None:
    table = pa.table(
        {"a": [1, 2], "x": ['say "hi"', None], "b": [1.5, 2.0], "n": pa.nulls(2), "s": [{"t": 1}, {"t": None}]}
    )
    extra = decoded(stream_of("a int"), packs.of_table(table)).events.column("_extra").to_pylist()
    assert extra == [[("b", "1.5"), ("s", '{"t":1}'), ("x", '"say \\"hi\\""')], [("b", "2.0"), ("s", "{}")]]


@pytest.mark.parametrize(
    ("schema", "column", "reason"),
    [
        ("a double", pa.array([1.0, float("nan")]), "a: NaN"),
        ("a double", pa.array([1.0, float("-inf")]), "a: -Infinity"),
        ("a int", pa.array([1, 2**31]), "a: 2147483648 is out of range for int"),
        ("a int", pa.array([1.0, 2.0]), "a: expected int, found number 2.0"),
        ("a bigint", pa.array([1, 2**63], pa.uint64()), "a: 9223372036854775808 is out of range for bigint"),
        ("a string", pa.array([1, 2]), "a: expected string, found number 2"),
        ("a boolean", pa.array([0, 1]), "a: expected boolean, found number 1"),
        (
            "a decimal(4,2)",
            pa.array([Decimal("1.005")] * 2, pa.decimal128(5, 3)),
            "a: 1.005 does not fit decimal(4,2)",
        ),
        ("a decimal(4,2)", pa.array([1, 100]), "a: 100 does not fit decimal(4,2)"),
        (
            "a timestamp",
            pa.array([1, 1], pa.timestamp("ns", "UTC")),
            "a: more than 6 fractional digits in '1970-01-01T00:00:00.000000001Z'",
        ),
        ("a timestamp", pa.array([1, 1], pa.timestamp("s")), "a: no time zone in '1970-01-01T00:00:01.000000'"),
        (
            "a timestamp",
            pa.array([2**50, 2**50], pa.timestamp("s", "UTC")),
            'a: expected timestamp, found string "1125899906842624/1 s since 1970"',
        ),
        (
            "a date",
            pa.array([2**30] * 2, pa.date32()),
            'a: expected date, found string "1073741824 days since 1970"',
        ),
        ("a int not null", pa.array([None, None], pa.int32()), "a: missing"),
    ],
)
def test_cells_are_as_strict_as_json(schema: str, column: pa.Array, reason: str) -> None:
    assert refused(stream_of(schema), packs.of_table(pa.table({"a": column})))[-1] == (1, reason)


def test_an_event_without_its_time_is_refused() -> None:
    table = pa.table({"time": pa.array([0, None], pa.timestamp("us", "UTC"))})
    assert refused(stream_of("time timestamp", TIME), packs.of_table(table)) == [(1, "time: missing")]


def test_local_times_take_the_zone_of_the_stream() -> None:
    stream = stream_of("time timestamp", FromColumn("time", "Europe/Berlin"))
    local = pa.array([dt.datetime(2026, 7, 1, 12), dt.datetime(2026, 1, 1, 12)], pa.timestamp("ms"))
    found = decoded(stream, packs.of_table(pa.table({"time": local}))).events.column("_time").to_pylist()
    assert [time.hour for time in found] == [10, 11]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "not an Arrow stream: "),
        (b"no arrow", "not an Arrow stream: "),
        (packs.of_table(pa.table({"a": [1]})).value[:-40], "not an Arrow stream: "),
        (2 * packs.of_table(pa.table({"a": [1]})).value, "something follows the Arrow stream at byte "),
        (packs.of_table(pa.table({"a": pa.nulls(2**20 + 1)})).value, "more than 1048576 events"),
        (zipped(pa.table({"a": [0] * 1000}), "zstd"), "a compressed Arrow stream"),
        (zipped(pa.table({"a": pa.array(["x" * 1000]).dictionary_encode()}), "lz4"), "a compressed Arrow stream"),
        (packs.of_table(pa.table({"t": pa.array([1], pa.time64("us"))})).value, "t: no event can hold time64[us]"),
    ],
)
def test_a_pack_that_can_not_be_read_is_refused_whole(value: bytes, reason: str) -> None:
    found = decoded(stream_of("a int"), Pack(value, ARROW), packs.of_table(pa.table({"a": [7]})))
    assert found.events.column("a").to_pylist() == [7]
    (reject,) = found.rejects.to_pylist()
    assert (reject["_index"], reject["value"]) == (None, value)
    assert reject["reason"].startswith(reason)


def test_text_that_is_not_utf_8_makes_a_pack_unreadable() -> None:
    text = pa.StringArray.from_buffers(1, pa.py_buffer(np.array([0, 2], np.int32)), pa.py_buffer(b"\xff\xfe"))
    assert refused(stream_of("a string"), packs.of_table(pa.table({"a": text})))[0][0] is None


@pytest.mark.long
def test_no_flipped_bit_crashes_or_hangs() -> None:
    columns = {"a": pa.array(range(100)), "s": ["text"] * 100, "l": [[1, 2]] * 100, "t": [RECEIVED] * 100}
    good = packs.of_table(pa.table({**columns, "m": [{"x": 1.5}] * 100})).value
    for at in range(0, len(good), 9):
        flipped = bytearray(good)
        flipped[at] ^= 0xFF
        found = decoded(stream_of("a int, s string, l array<int>"), Pack(bytes(flipped), ARROW))
        assert found.events.num_rows + found.rejects.num_rows >= 0


def test_one_bad_event_among_many_slows_down_only_its_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    from tarnbeck.schema import cells

    written: list[int] = []
    real = cells.objects

    def counted(table: pa.Table) -> list[bytes]:
        written.append(table.num_rows)
        return real(table)

    monkeypatch.setattr(cells, "objects", counted)
    values = np.arange(100_000, dtype=np.float64)
    values[55_555] = np.nan
    half = [pa.table({"a": values[start : start + 50_000]}) for start in (0, 50_000)]
    found = decoded(stream_of("a double"), *(packs.of_table(table) for table in half))
    assert (found.events.num_rows, found.rejects.column("_index").to_pylist()) == (99_999, [5_555])
    assert sum(written) <= 1024


def test_a_table_is_made_fit_before_it_is_sent() -> None:
    stream = stream_of("time timestamp, p decimal(6,2), b binary, s string", TIME)
    table = pa.table(
        {
            "time": ["2026-11-15T12:00:00+01:00", "2026-11-15T12:00:00Z"],
            "p": [1.5, 2.25],
            "b": pa.array([b"x", None], pa.binary_view()),
            "s": pa.array(["a", "b"]).dictionary_encode(),
            "other": [1, None],
        }
    )
    fit = conform(stream, table)
    assert fit.schema.names == ["time", "p", "b", "s", "other"]
    assert fit.schema.field("p").type == pa.decimal128(6, 2)
    assert fit.column("time").to_pylist()[0] == dt.datetime(2026, 11, 15, 11, tzinfo=dt.UTC)
    assert decoded(stream, packs.of_table(fit)).events.column("p").to_pylist() == [Decimal("1.50"), Decimal("2.25")]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"time": ["2026-11-15T12:00:00Z", "yesterday"]}, "row 2 can't be sent: time: expected timestamp"),
        ({"other": [1]}, "row 1 can't be sent: time: missing"),
        ({"time": pa.array([1], pa.duration("s"))}, "column 'time': no event can hold duration"),
        ({"time": ["2026-11-15T12:00:00Z"], "day": pa.array([1], pa.date64())}, "the table is not valid: .*1"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(table: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        conform(stream_of("time timestamp", TIME), pa.table(table))


def test_a_table_without_rows_is_sent_as_nothing() -> None:
    assert conform(stream_of("time timestamp", TIME), pa.table({"time": pa.array([], pa.string())})).num_rows == 0


@pytest.mark.parametrize("at_once", [1, 100, 1 << 20])
@pytest.mark.parametrize(
    "pack",
    [
        Pack(b"", NDJSON),
        Pack(b"\n\n", NDJSON),
        Pack(b'\n{"n":1}\n\n{"n":2}\r\n', NDJSON),
        Pack(b"one", NDJSON),
        Pack(b"one\ntwo", "application/json"),
        packs.of_table(pa.table({"n": pa.array([], pa.int64())})),
        packs.of_table(pa.table({"n": [1, None, 3] * 50, "t": ["x" * length for length in range(150)]})),
        packs.of_table(pa.table({"w": pa.array(["a", None, "b", "a"]).dictionary_encode(), "l": [[1], [], None, [2]]})),
        packs.of_table(pa.table([[1], [2]], names=["same", "same"])),
    ],
)
def test_a_pack_can_be_taken_apart_from_its_end(pack: Pack, at_once: int) -> None:
    kind = pack.content_type.encode()
    count, events = packs.backwards(pack.value, kind, at_once)
    found = list(events)
    assert (count, found[::-1]) == (len(found), packs.opened(pack.value, kind))


def test_the_last_events_of_a_pack_cost_no_more_than_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """A word of a dictionary may stand in all events: all of them together would be a hundred times the pack."""
    rows = pa.DictionaryArray.from_arrays(pa.array([0] * 500, pa.int32()), ["x" * 100_000])
    pack, written = packs.of_table(pa.table({"word": rows})), []
    objects = cells.objects

    def noting(rows: pa.Table) -> list[bytes]:
        written.extend(objects(rows))
        return written[-rows.num_rows :]

    monkeypatch.setattr(cells, "objects", noting)
    count, events = packs.backwards(pack.value, ARROW.encode(), 1 << 20)
    assert count == 500
    assert len(next(events)) == 100_011
    assert sum(map(len, written)) < 2 << 20
    with pytest.raises(Reject, match="not an Arrow stream"):
        packs.backwards(b"broken", ARROW.encode(), 1 << 20)
