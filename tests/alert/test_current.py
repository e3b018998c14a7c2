"""Which window of a key a rule judges."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from tarnbeck.alert.current import Choice
from tarnbeck.algebra.aggregate import UNIX
from tarnbeck.cut import Cut
from tarnbeck.schema import types
from tarnbeck.serve.answer import Answer
from tarnbeck.serve.changes import Seen
from tarnbeck.window.duration import MINUTE


def at(minute: float) -> datetime.datetime:
    return UNIX + datetime.timedelta(minutes=minute)


def chosen(
    windows: Sequence[tuple[str, float, float]],
    now: float,
    *,
    last: int | None = None,
    only_closed: bool = False,
    closed: float | None = None,
) -> list[tuple[str, float]]:
    """Keys, and the start of the window that counts."""
    columns = (("room", types.STRING), ("start", types.TIMESTAMP), ("end", types.TIMESTAMP))
    rows = [(room, at(start), at(end)) for room, start, end in windows]
    answer = Answer("v", 1, columns, rows, Cut("t"), Cut("t"), "minute", None, None, False)
    seen = Seen(answer, 2, True, None if closed is None else at(closed))
    choice = Choice.of(seen, None if last is None else last * MINUTE, only_closed=only_closed)
    keys = dict.fromkeys(row[0] for row in rows)
    found = [choice.current([row for row in rows if row[0] == key], round(now * MINUTE)) for key in keys]
    return [(row[0], (row[1] - UNIX) / datetime.timedelta(minutes=1)) for row in found if row is not None]


def test_it_is_the_newest_of_each_key_even_if_other_keys_have_newer_ones() -> None:
    windows = [("attic", 0, 1), ("attic", 1, 2), ("cellar", 2, 3)]
    assert chosen(windows, 2.5) == [("attic", 1), ("cellar", 2)]


def test_a_key_that_is_silent_for_too_long_is_not_looked_at() -> None:
    windows = [("attic", 0, 1), ("cellar", 2, 3)]
    assert chosen(windows, 11, last=10) == [("cellar", 2)]
    assert chosen(windows, 10.9, last=10) == [("attic", 0), ("cellar", 2)]


def test_windows_of_the_future_count_when_their_time_has_come() -> None:
    windows = [("attic", 0, 1), ("attic", 60, 61)]
    assert chosen(windows, 5) == [("attic", 0)]
    assert chosen(windows, 60) == [("attic", 60)]


def test_of_windows_that_overlap_the_fullest_counts() -> None:
    windows = [("attic", start, start + 10) for start in (10, 0, 3, 5, 9)]
    assert chosen(windows, 10.5) == [("attic", 3)]
    assert chosen(windows, 14) == [("attic", 5)]
    assert chosen(windows, 30) == [("attic", 10)]


def test_only_closed_windows_count_where_that_is_asked_for() -> None:
    windows = [("attic", 0, 1), ("attic", 1, 2), ("attic", 2, 3)]
    assert chosen(windows, 2.5, only_closed=True, closed=2) == [("attic", 1)]
    assert chosen(windows, 2.5, only_closed=True) == []
