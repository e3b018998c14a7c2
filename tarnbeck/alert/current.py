"""Which window of a key counts at a moment: a rule judges one row of each key."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

from tarnbeck.algebra.aggregate import UNIX
from tarnbeck.serve.changes import Moment, Seen
from tarnbeck.serve.memo import Row

_MICROSECOND = datetime.timedelta(microseconds=1)


@dataclass(frozen=True)
class Choice:
    """How the row of a key is chosen; windows that ended before `last` ago, or are not closed, may be left out."""

    windowed: bool
    end: int
    """Where in a row the end of its window stands, behind its start."""
    last: int | None
    closed: Moment
    only_closed: bool

    @classmethod
    def of(cls, seen: Seen, last: int | None, *, only_closed: bool) -> Choice:
        return cls(seen.windowed, seen.keys, last, seen.closed, only_closed)

    def current(self, rows: Sequence[Row], now: int) -> Row | None:
        """Of one key's rows the one that counts: the only one, or that of its newest window.

        That is the window that holds this moment; of several that overlap, the one that ends first, because it is the
        fullest. If none does, it is the one that ended last, unless that is longer ago than `last`. Windows of the
        future have clocks that run wrong to thank for, and count when their time has come.
        """
        if not self.windowed:
            return rows[0]
        moment, end, best = UNIX + now * _MICROSECOND, self.end, None
        oldest = None if self.last is None else moment - self.last * _MICROSECOND
        for row in rows:
            if row[end - 1] > moment or (oldest is not None and row[end] <= oldest):
                continue
            if self.only_closed and (self.closed is None or row[end] > self.closed):
                continue
            if best is None or _newer(row[end], best[end], moment):
                best = row
        return best


def _newer(end: datetime.datetime, than: datetime.datetime, moment: datetime.datetime) -> bool:
    """Whether a window that ends at `end` counts rather than another; both have begun."""
    if end > moment and than > moment:
        return end < than
    return end > than
