"""How `tail` shows records."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa

from tarnbeck.cli.tail import shown
from tarnbeck.log.events import as_dict, events_of
from tarnbeck.log.follow import Record
from tarnbeck.schema.packs import of_lines, of_table

TIME = datetime(2026, 1, 31, 12, 0, 0, 123000, tzinfo=UTC)


def test_a_person_sees_place_time_key_and_value() -> None:
    (event,) = events_of(Record(1, 617, TIME, b"EUR", b'{"a":1}'))
    assert shown(event) == '1:617  2026-01-31 12:00:00.123  EUR  {"a":1}'


def test_a_value_can_not_steer_the_terminal() -> None:
    (event,) = events_of(Record(0, 0, TIME, None, b"\x1b[2J\xff"))
    assert "\x1b" not in shown(event)


def test_bytes_that_are_not_text_are_told_in_base64() -> None:
    (event,) = events_of(Record(0, 5, TIME, None, b"\xff"))
    found = as_dict(event)
    assert found == {"partition": 0, "offset": 5, "index": 0, "received": TIME, "key": None, "value_base64": "/w=="}


def test_the_events_of_a_pack_are_told_one_by_one_with_their_places() -> None:
    for pack in (of_lines([b'{"a":1}', b'{"a":2}']), of_table(pa.table({"a": [1, 2]}))):
        events = events_of(Record(1, 617, TIME, None, pack.value, pack.content_type.encode()))
        assert [shown(event).split()[0] for event in events] == ["1:617:0", "1:617:1"]
        assert [event.value for event in events] == [b'{"a":1}', b'{"a":2}']
        assert as_dict(events[1])["index"] == 1
