"""How `tail` shows records."""

from __future__ import annotations

from datetime import UTC, datetime

from tarnbeck.cli.tail import as_dict, shown
from tarnbeck.log.follow import Record

TIME = datetime(2026, 1, 31, 12, 0, 0, 123000, tzinfo=UTC)


def test_a_person_sees_place_time_key_and_value() -> None:
    assert shown(Record(1, 617, TIME, b"EUR", b'{"a":1}')) == '1:617  2026-01-31 12:00:00.123  EUR  {"a":1}'


def test_a_value_can_not_steer_the_terminal() -> None:
    assert "\x1b" not in shown(Record(0, 0, TIME, None, b"\x1b[2J\xff"))


def test_bytes_that_are_not_text_are_told_in_base64() -> None:
    found = as_dict(Record(0, 5, TIME, None, b"\xff"))
    assert found == {"partition": 0, "offset": 5, "received": TIME, "key": None, "value_base64": "/w=="}
