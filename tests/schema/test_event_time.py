"""The time of an event: from a column, local or with a zone, a number, or its arrival; and the years it may have."""

from __future__ import annotations

import datetime as dt
from json import dumps

import pyarrow as pa
import pytest

from tarnbeck.schema.decode import decode, decode_rows_of
from tarnbeck.schema.fast import decode_batch
from tarnbeck.schema.packs import plain
from tarnbeck.schema.rows import decode_rows
from tarnbeck.schema.stream import Epoch, EventTime, FromColumn
from tests.schema.test_decode import RECEIVED, one, records_of, stream_of, whole_reason


@pytest.mark.parametrize(
    ("local", "utc"),
    [
        ("2026-07-01T12:00:00", dt.datetime(2026, 7, 1, 10, tzinfo=dt.UTC)),
        ("2026-07-01T12:00:00Z", dt.datetime(2026, 7, 1, 12, tzinfo=dt.UTC)),
        ("2026-10-25T02:30:00", dt.datetime(2026, 10, 25, 0, 30, tzinfo=dt.UTC)),
        ("2026-03-29T02:30:00", dt.datetime(2026, 3, 29, 1, 30, tzinfo=dt.UTC)),
        ("2200-07-01T12:00:00.5", dt.datetime(2200, 7, 1, 10, 0, 0, 500_000, tzinfo=dt.UTC)),
        ("1880-07-01T12:00:00", dt.datetime(1880, 7, 1, 11, 6, 32, tzinfo=dt.UTC)),
    ],
)
def test_a_local_event_time_is_read_in_the_declared_zone(local: str, utc: dt.datetime) -> None:
    stream = stream_of("t timestamp, u timestamp", FromColumn("t", "Europe/Berlin"))
    records = records_of(b'{"t":"%s"}' % local.encode())
    for found in (decode(stream, records).events, decode_rows(stream, plain(records)).events):
        assert found.column("_time").to_pylist() == [utc]
    assert whole_reason("t timestamp, u timestamp", b'{"u":"2026-01-01T00:00:00"}').startswith("u: no time zone")


def test_an_event_without_its_time_is_refused() -> None:
    assert whole_reason("t timestamp", b"{}", FromColumn("t")) == "t: missing"
    assert whole_reason("t bigint", b'{"t":null}', Epoch("t", "ms")) == "t: null"


@pytest.mark.parametrize(
    ("column_type", "unit", "json", "micros"),
    [
        ("bigint", "s", b"-1", -1_000_000),
        ("int", "s", b"2000000000", 2_000_000_000_000_000),
        ("bigint", "ms", b"1794744000123", 1_794_744_000_123_000),
        ("bigint", "us", b"-1", -1),
        ("bigint", "ns", b"-1", -1),
        ("bigint", "ns", b"1999", 1),
        ("double", "s", b"1794744000.123", 1_794_744_000_123_000),
        ("decimal(30,10)", "s", b"1.0000019999", 1_000_001),
        ("decimal(30,10)", "ms", b"-0.0001", -1),
    ],
)
def test_an_epoch_number_is_a_time(column_type: str, unit: str, json: bytes, micros: int) -> None:
    stream = stream_of(f"t {column_type}", Epoch("t", unit))  # type: ignore[arg-type]
    records = records_of(b'{"t":%s}' % json)
    fast = decode_batch(stream, plain(records))
    assert fast is not None
    for found in (fast, decode_rows(stream, plain(records)).events):
        assert found.column("_time").cast(pa.int64()).to_pylist() == [micros]


@pytest.mark.parametrize(
    ("column_type", "json"), [("bigint", b"9223372036854775807"), ("bigint", b"-62135596801"), ("double", b"1e300")]
)
def test_an_epoch_number_beyond_the_years_is_refused(column_type: str, json: bytes) -> None:
    reason = whole_reason(f"t {column_type}", b'{"t":%s}' % json, Epoch("t", "s"))
    assert reason.startswith("t: ")
    assert reason.endswith(" s is outside the years 0002 to 9998")


def test_arrival_is_the_time_of_the_record() -> None:
    assert one("a int", b"{}").events.column("_time").to_pylist() == [RECEIVED]
    found = decode(stream_of("a int"), records_of(b"{}", received=None))
    assert found.rejects.column("reason").to_pylist() == ["the record has no timestamp within the years 0002 to 9998"]


@pytest.mark.parametrize(
    ("inside", "outside"),
    [
        (dt.datetime(2, 1, 1, tzinfo=dt.UTC), dt.datetime(1, 12, 31, 23, 59, 59, 999_999, tzinfo=dt.UTC)),
        (dt.datetime(9998, 12, 31, 23, 59, 59, 999_999, tzinfo=dt.UTC), dt.datetime(9999, 1, 1, tzinfo=dt.UTC)),
    ],
)
def test_an_event_whose_windows_the_calendar_could_not_hold_is_set_aside(
    inside: dt.datetime, outside: dt.datetime
) -> None:
    """However it comes, and whatever its time is taken from; other columns keep all years."""
    micros = (outside - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)
    text = outside.isoformat().replace("+00:00", "Z")
    reason = "is outside the years 0002 to 9998"
    cases: list[tuple[EventTime, str, object, object, str]] = [
        (FromColumn("t"), "timestamp", inside, text, f"t: '{text}' {reason}"),
        (FromColumn("t", "UTC"), "timestamp", inside, text[:-1], f"t: '{text[:-1]}' {reason}"),
        (Epoch("t", "us"), "bigint", micros - 1 if micros > 0 else micros + 1, micros, f"t: {micros} us {reason}"),
    ]
    for time, column_type, good, bad, expected in cases:
        stream = stream_of(f"t {column_type}, u timestamp", time)
        for value, reasons in ((good, []), (bad, [expected])):
            event = {"t": value, "u": text}
            records = records_of(dumps(event, default=str).encode())
            assert decode_rows(stream, plain(records)).rejects.column("reason").to_pylist() == reasons
            assert decode(stream, records).rejects.column("reason").to_pylist() == reasons
            if reasons:
                assert decode_batch(stream, plain(records)) is None
            table = pa.Table.from_pylist([{**event, "u": outside}])
            parts = list(decode_rows_of(stream, plain(records).drop_columns(["value"]), table))
            assert [why for part in parts for why in part.rejects.column("reason").to_pylist()] == reasons
    arrival = ["the record has no timestamp within the years 0002 to 9998"]
    for received, reasons in ((inside, []), (outside, arrival)):
        found = decode(stream_of("u timestamp"), records_of(b'{"u":"%s"}' % text.encode(), received=received))
        assert found.rejects.column("reason").to_pylist() == reasons
