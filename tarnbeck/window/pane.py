"""Panes: how a moment of event time finds the start of the slice it belongs to."""

from __future__ import annotations

import datetime
import functools
import zoneinfo
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tarnbeck.window.duration import DAY, HOUR, MINUTE

Moments = npt.NDArray[np.int64]
UNIX = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)
_EPOCH = UNIX.replace(tzinfo=None)
_QUARTER = 15 * MINUTE

# Two years from the ends of Python's calendar, neither a zone's clock nor the year after runs over them.
_FIRST = (datetime.datetime(3, 1, 1) - _EPOCH) // _MICROSECOND
_LAST = (datetime.datetime(9998, 1, 1) - _EPOCH) // _MICROSECOND - 1
_CYCLE = 146_097 * DAY
"""Four hundred years: dates fall on the same weekdays again, and so do changes of the clock."""


@dataclass(frozen=True)
class Whole:
    """All time is one pane."""

    def start_of(self, moment: int) -> int:
        return 0

    def starts_of(self, moments: Moments) -> Moments:
        return np.zeros_like(moments)

    def end_of(self, start: int) -> int | None:
        return None


@dataclass(frozen=True)
class Fixed:
    """Panes of one length, counted from `origin`."""

    length: int
    origin: int = 0

    def start_of(self, moment: int) -> int:
        return moment - (moment - self.origin) % self.length

    def starts_of(self, moments: Moments) -> Moments:
        starts: Moments = moments - np.mod(moments - self.origin, self.length)
        return starts

    def end_of(self, start: int) -> int | None:
        return start + self.length


@dataclass(frozen=True)
class Calendar:
    """Hours, days, months or years as the clocks of a time zone show them.

    A day, month or year lasts until the clock first shows the next one: where clocks are set back just after midnight,
    the end of the evening that comes twice is of the new day.
    """

    unit: str
    zone: str

    def start_of(self, moment: int) -> int:
        turns = _turns(moment)
        return _calendar_start(self.unit, self.zone, moment - turns) + turns

    def starts_of(self, moments: Moments) -> Moments:
        """Python's calendar is asked for both ends of each quarter of an hour that occurs, not for each event.

        Only where the ends are of two panes, as in the quarters in which some zones change their clocks, each event
        is asked for itself.
        """
        slots, where = np.unique(np.floor_divide(moments, _QUARTER), return_inverse=True)
        starts = np.array([self.start_of(slot * _QUARTER) for slot in slots.tolist()], dtype=np.int64)
        ends = np.array([self.start_of((slot + 1) * _QUARTER - 1) for slot in slots.tolist()], dtype=np.int64)
        found: Moments = starts[where]
        for place in np.flatnonzero((starts != ends)[where]).tolist():
            found[place] = self.start_of(int(moments[place]))
        return found

    def end_of(self, start: int) -> int | None:
        turns = _turns(start)
        return _calendar_end(self.unit, self.zone, start - turns) + turns


Pane = Whole | Fixed | Calendar


def _turns(moment: int) -> int:
    """By how many cycles a moment is off those that Python's calendar is sure of."""
    if _FIRST <= moment <= _LAST:
        return 0
    return (moment - _FIRST) // _CYCLE * _CYCLE if moment < _FIRST else -((_LAST - moment) // _CYCLE) * _CYCLE


@functools.lru_cache(maxsize=1 << 17)
def _calendar_start(unit: str, zone: str, moment: int) -> int:
    local = _local(zone, moment)
    if unit == "hour":
        # By the offset in force, not by the clock face: the hour that is repeated when clocks go back is two panes.
        return moment - (moment + _offset(local)) % HOUR
    shown = _STARTS[unit](local.replace(tzinfo=None))
    after = _begin(zone, _next(unit, shown))
    if after <= moment:
        return after
    begun = _begin(zone, shown)
    # Where the clock jumps over midnight from before to after it, the day begins later than the clock shows it.
    return begun if begun <= moment else _begin(zone, _STARTS[unit](shown - _DAY))


@functools.lru_cache(maxsize=1 << 14)
def _calendar_end(unit: str, zone: str, start: int) -> int:
    if unit == "hour":
        return start + HOUR
    return _begin(zone, _next(unit, _STARTS[unit](_local(zone, start).replace(tzinfo=None))))


def _local(zone: str, moment: int) -> datetime.datetime:
    return (UNIX + moment * _MICROSECOND).astimezone(zoneinfo.ZoneInfo(zone))


def _offset(local: datetime.datetime) -> int:
    return (local.utcoffset() or datetime.timedelta()) // _MICROSECOND


def _begin(zone: str, midnight: datetime.datetime) -> int:
    """The moment at which the clock first shows this midnight."""
    return (midnight - _EPOCH) // _MICROSECOND - _offset(midnight.replace(tzinfo=zoneinfo.ZoneInfo(zone)))


def _next(unit: str, start: datetime.datetime) -> datetime.datetime:
    """When the day, month or year after this one begins."""
    return _STARTS[unit](start + _INTO_NEXT[unit])


_DAY = datetime.timedelta(days=1)
_INTO_NEXT = {"day": _DAY, "month": 31 * _DAY, "year": 366 * _DAY}
"""How far after the start of a unit the next one surely has begun, and the one after it has not."""


def _midnight(local: datetime.datetime) -> datetime.datetime:
    return local.replace(hour=0, minute=0, second=0, microsecond=0)


_STARTS: dict[str, Callable[[datetime.datetime], datetime.datetime]] = {
    "day": _midnight,
    "month": lambda local: _midnight(local).replace(day=1),
    "year": lambda local: _midnight(local).replace(month=1, day=1),
}
