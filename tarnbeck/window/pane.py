"""Panes: how a moment of event time finds the start of the slice it belongs to."""

from __future__ import annotations

import datetime
import functools
import zoneinfo
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tarnbeck.window.duration import DAY, HOUR, MINUTE

Moments = npt.NDArray[np.int64]
UNIX = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)

# Before 1973 some zones stood off UTC by odd seconds; since then every offset is a whole number of quarter hours.
_REGULAR_SINCE = 3 * 365 * DAY + DAY
_QUARTER = 15 * MINUTE


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
    """Hours, days, months or years as the clocks of a time zone show them."""

    unit: str
    zone: str

    def start_of(self, moment: int) -> int:
        return _calendar_start(self.unit, self.zone, moment)

    def starts_of(self, moments: Moments) -> Moments:
        """Python's calendar is asked once for each quarter of an hour that occurs, not once for each event."""
        step = 1 if moments.size and int(moments.min()) < _REGULAR_SINCE else _QUARTER
        slots, where = np.unique(np.floor_divide(moments, step), return_inverse=True)
        starts = [_calendar_start(self.unit, self.zone, slot * step) for slot in slots.tolist()]
        found: Moments = np.array(starts, dtype=np.int64)[where]
        return found

    def end_of(self, start: int) -> int | None:
        return _calendar_end(self.unit, self.zone, start)


Pane = Whole | Fixed | Calendar


def _local(zone: str, moment: int) -> datetime.datetime:
    return (UNIX + moment * _MICROSECOND).astimezone(zoneinfo.ZoneInfo(zone))


def _moment(local: datetime.datetime) -> int:
    return (local.astimezone(datetime.UTC) - UNIX) // _MICROSECOND


_FIRST: dict[str, dict[str, Any]] = {"day": {}, "month": {"day": 1}, "year": {"day": 1, "month": 1}}


@functools.lru_cache(maxsize=1 << 17)
def _calendar_start(unit: str, zone: str, moment: int) -> int:
    local = _local(zone, moment)
    if unit == "hour":
        # By the offset in force, not by the clock face: the hour that is repeated when clocks go back is two panes.
        offset = (local.utcoffset() or datetime.timedelta()) // _MICROSECOND
        return moment - (moment + offset) % HOUR
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0, **_FIRST[unit])
    return _moment(midnight)


@functools.lru_cache(maxsize=1 << 14)
def _calendar_end(unit: str, zone: str, start: int) -> int:
    if unit == "hour":
        return start + HOUR
    local = _local(zone, start)
    # A zone that skips midnight starts its day later; from the pane's middle on, the next pane is unambiguous.
    days = {"day": 1, "month": 32, "year": 366}[unit]
    later = (local.replace(tzinfo=None, hour=12) + datetime.timedelta(days=days)).replace(tzinfo=local.tzinfo)
    return _calendar_start(unit, zone, _moment(later))
