"""Events written by a sender are read back as they were, and unfit ones are refused before they are sent."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarnbeck.errors import UsageError
from tarnbeck.schema.ddl import parse
from tarnbeck.schema.decode import RECORDS, decode
from tarnbeck.schema.encode import to_json
from tarnbeck.schema.stream import Arrival, FromColumn, Json, Stream

SCHEMA = (
    "time timestamp, flag boolean, few int, many bigint, ratio double, price decimal(18,2), name string, day date, "
    "raw binary, a struct<b: int, c: array<timestamp>>, m map<string, decimal(5,1)>"
)
STREAM = Stream("prices", parse(SCHEMA), FromColumn("time"), None, "prices", Json(), 2, True)

moments = st.datetimes(timezones=st.just(dt.UTC))
events = st.fixed_dictionaries(
    {"time": moments},
    optional={
        "flag": st.booleans(),
        "few": st.integers(-(2**31), 2**31 - 1),
        "many": st.integers(-(2**63), 2**63 - 1),
        "ratio": st.floats(allow_nan=False, allow_infinity=False).map(lambda value: value + 0.0),
        "price": st.decimals(min_value=-(10**15), max_value=10**15, places=2).map(lambda value: value + 0),
        "name": st.text(),
        "day": st.dates(),
        "raw": st.binary(),
        "a": st.fixed_dictionaries({"b": st.integers(0, 9), "c": st.lists(st.none() | moments, max_size=3)}),
        "m": st.dictionaries(st.text(), st.none() | st.decimals(-9, 9, places=1).map(lambda value: value + 0)),
    },
)


def decoded(stream: Stream, value: bytes) -> dict[str, object]:
    row = {"partition": 0, "offset": 0, "timestamp": dt.datetime(2026, 1, 1, tzinfo=dt.UTC), "value": value}
    found = decode(stream, pa.Table.from_pylist([row], schema=RECORDS))
    assert found.rejects.to_pylist() == []
    event: dict[str, object] = found.events.to_pylist()[0]
    return event


@given(events)
def test_an_event_is_read_back_as_it_was_sent(event: Mapping[str, object]) -> None:
    found = decoded(STREAM, to_json(STREAM, event))
    for name in STREAM.schema.names:
        sent = event.get(name)
        assert found[name] == (list(sent.items()) if isinstance(sent, dict) and name == "m" else sent)
    assert found["_extra"] is None


def test_values_are_written_in_their_one_plain_form() -> None:
    berlin = dt.timezone(dt.timedelta(hours=1))
    event = {
        "time": dt.datetime(2026, 11, 15, 13, 0, tzinfo=berlin),
        "price": Decimal("1E+2"),
        "raw": b"hi",
        "day": dt.date(2026, 1, 2),
        "name": "ä",
    }
    assert to_json(STREAM, event).decode() == (
        '{"time":"2026-11-15T12:00:00.000000Z","price":100,"raw":"aGk=","day":"2026-01-02","name":"ä"}'
    )


def test_texts_of_times_and_undeclared_fields_are_sent_as_they_are() -> None:
    value = to_json(STREAM, {"time": "2026-11-15T12:00:00Z", "more": [1, {"x": None}]})
    found = decoded(STREAM, value)
    assert found["time"] == dt.datetime(2026, 11, 15, 12, tzinfo=dt.UTC)
    assert found["_extra"] == [("more", '[1,{"x":null}]')]


def test_a_local_time_is_sent_when_the_stream_has_a_zone() -> None:
    stream = Stream("s", parse("t timestamp"), FromColumn("t", "Europe/Berlin"), None, "s", Json(), 2, True)
    found = decoded(stream, to_json(stream, {"t": dt.datetime(2026, 7, 1, 12)}))
    assert found["_time"] == dt.datetime(2026, 7, 1, 10, tzinfo=dt.UTC)


NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ({}, "this event can't be sent: time: missing"),
        ({"time": dt.datetime(2026, 1, 1)}, "time: no time zone in '2026-01-01T00:00:00.000000'"),
        ({"time": 5}, "column 'time': expected a datetime or its ISO 8601 text, found int 5"),
        ({"time": NOW, "flag": 1}, "column 'flag': expected True or False, found int 1"),
        ({"time": NOW, "few": True}, "column 'few': expected an int, found bool True"),
        ({"time": NOW, "few": 2**31}, "few: 2147483648 is out of range for int"),
        ({"time": NOW, "ratio": float("nan")}, "column 'ratio': expected a finite float, found float nan"),
        ({"time": NOW, "price": Decimal("0.001")}, "price: 0.001 does not fit decimal(18,2)"),
        ({"time": NOW, "price": Decimal("Infinity")}, "column 'price': expected a finite Decimal"),
        ({"time": NOW, "name": "\ud800"}, "bad UTF-8"),
        ({"time": NOW, "name": b"x"}, "column 'name': expected text, found bytes b'x'"),
        ({"time": NOW, "day": NOW}, "column 'day': expected a date or its ISO 8601 text, found datetime"),
        ({"time": NOW, "raw": "aGk="}, "column 'raw': expected bytes, found str 'aGk='"),
        ({"time": NOW, "a": {"c": "x"}}, "column 'a': column 'c': expected a list, found str 'x'"),
        ({"time": NOW, "m": [1]}, "column 'm': expected a mapping, found list [1]"),
        ({"time": NOW, "m": {1: 2}}, "column 'm': expected a name as text, found int 1"),
        ({"time": NOW, "more": {1, 2}}, "column 'more': expected a plain JSON value"),
    ],
)
def test_an_unfit_event_is_refused_before_it_is_sent(event: Mapping[str, object], reason: str) -> None:
    with pytest.raises(UsageError) as error:
        to_json(STREAM, event)
    assert str(error.value).startswith("stream 'prices': ")
    assert reason in str(error.value)


def test_a_stream_by_arrival_needs_no_time() -> None:
    stream = Stream("s", parse("x int"), Arrival(), None, "s", Json(), 2, True)
    assert to_json(stream, {"x": 1}) == b'{"x":1}'
