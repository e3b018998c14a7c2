"""Which window of each key counts at a moment: a rule judges one row of each key."""

from __future__ import annotations

import datetime
from collections.abc import Iterable

from tarnbeck.algebra.aggregate import UNIX
from tarnbeck.serve.changes import Seen
from tarnbeck.serve.memo import Row

_MICROSECOND = datetime.timedelta(microseconds=1)


def current(seen: Seen, now: int, *, only_closed: bool, last: int | None) -> Iterable[Row]:
    """Of each key the row that counts: the only one, or that of its newest window.

    That is the window that holds this moment; of several that overlap, the one that ends first, because it is the
    fullest. If none does, it is the one that ended last, unless that is longer ago than `last`. Windows of the future
    have clocks that run wrong to thank for, and count when their time has come.
    """
    if not seen.windowed:
        return seen.answer.rows
    moment, best = UNIX + now * _MICROSECOND, dict[Row, Row]()
    oldest = None if last is None else moment - last * _MICROSECOND
    start, end = seen.keys - 1, seen.keys
    for row in seen.answer.rows:
        if row[start] > moment or (oldest is not None and row[end] <= oldest):
            continue
        if only_closed and (seen.closed is None or row[end] > seen.closed):
            continue
        key = row[:start]
        if key not in best or _newer(row[end], best[key][end], moment):
            best[key] = row
    return best.values()


def _newer(end: datetime.datetime, than: datetime.datetime, moment: datetime.datetime) -> bool:
    """Whether a window that ends at `end` counts rather than another; both have begun."""
    if end > moment and than > moment:
        return end < than
    return end > than
