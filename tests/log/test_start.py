from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tarnbeck.errors import UsageError
from tarnbeck.log.follow import AtOffsets, AtTime, Earliest, Latest, Start, parse_start


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("earliest", Earliest()),
        ("latest", Latest()),
        ("0", AtOffsets(everywhere=0)),
        ("123", AtOffsets(everywhere=123)),
        ("1:50, 0:123", AtOffsets(((0, 123), (1, 50)))),
        ("2026-01-31T12:00:00Z", AtTime(datetime(2026, 1, 31, 12, tzinfo=UTC))),
        ("2026-01-31T12:00:00.5+01:00", AtTime(datetime(2026, 1, 31, 11, 0, 0, 500_000, tzinfo=UTC))),
    ],
)
def test_a_start_is_read_from_what_a_user_writes(text: str, start: Start) -> None:
    assert parse_start(text) == start


@pytest.mark.parametrize("text", ["", "yesterday", "-1", "1:2:3", "0:x", "1:2,"])
def test_a_start_that_can_not_be_read_is_refused_with_what_is_expected(text: str) -> None:
    with pytest.raises(UsageError, match="expected earliest, latest, an offset"):
        parse_start(text)


def test_a_time_without_zone_is_refused() -> None:
    with pytest.raises(UsageError, match="no time zone in '2026-01-31T12:00:00'"):
        parse_start("2026-01-31T12:00:00")
