"""When: ranges of event time as people ask for them, in UTC microseconds."""

from __future__ import annotations

import datetime

from tarnbeck.algebra.aggregate import UNIX
from tarnbeck.errors import UsageError
from tarnbeck.schema.literal import ANY, OF_EVENTS
from tarnbeck.window.duration import duration

_MICROSECOND = datetime.timedelta(microseconds=1)

EARLIEST, LATEST = OF_EVENTS.first, OF_EVENTS.last


def micros(moment: str | datetime.datetime) -> int:
    """UTC microseconds of an ISO time; one without a zone is in UTC, as answers are.

    >>> micros("1970-01-01T01:00:00+01:00"), micros("1970-01-01 00:00:01"), micros("1970-01-02")
    (0, 1000000, 86400000000)
    """
    found = datetime.datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    if not isinstance(found, datetime.datetime):
        raise TypeError(f"not a time: {moment!r}")
    if found.tzinfo is None:
        found = found.replace(tzinfo=datetime.UTC)
    return (found - UNIX) // _MICROSECOND


def bounds(start: int, end: int) -> tuple[datetime.datetime, datetime.datetime]:
    """Start and end of a window as users see them."""
    return told(start), told(end)


def told(micros: int) -> datetime.datetime:
    """A moment as users see it; a long window may reach over the calendar's edge, and is told to end there.

    >>> told(0).isoformat(), told(1 << 62).isoformat()
    ('1970-01-01T00:00:00+00:00', '9999-12-31T23:59:59.999999+00:00')
    """
    return UNIX + min(max(micros, ANY.first), ANY.last) * _MICROSECOND


def resolve(
    last: str | None, since: str | datetime.datetime | None, until: str | datetime.datetime | None, now: int
) -> tuple[int | None, int | None]:
    """The range that `last`, or `since` and `until`, ask for.

    `last` alone has no end: an event whose clock runs ahead of ours is one of the last hour too.

    >>> resolve("1h", None, None, now=7_200_000_000)
    (3600000000, None)
    """
    if last is not None and since is not None:
        raise UsageError("range: both 'last' and 'since' are given\n  leave one of them out")
    end = None if until is None else bound("until", until)
    if last is not None:
        return within("last", (now if end is None else end) - duration(last)), end
    start = None if since is None else bound("since", since)
    if start is not None and end is not None and start >= end:
        raise UsageError(f"range: it is empty\n  since {since} is not before until {until}")
    return start, end


def compared(against: str | None, last: str | None, until: int | None, now: int) -> int | None:
    """Where the range begins that the one of `last` is compared with; both end together.

    >>> compared("1h", "1m", None, now=7_200_000_000)
    3600000000
    """
    if against is None:
        return None
    if last is None:
        raise UsageError(
            "range: 'against' is given without 'last'\n  it is what last is compared with, such as last 1h against 1d"
        )
    return within("against", (now if until is None else until) - duration(against))


def bound(name: str, moment: str | datetime.datetime) -> int:
    """UTC microseconds of a time that people gave."""
    try:
        found = micros(moment)
    except (ValueError, TypeError, OverflowError):
        raise UsageError(
            f"range: bad time in {name}={moment!r}\n"
            "  expected an ISO time, such as '2026-01-31T12:00:00Z' or '2026-01-31'"
        ) from None
    return within(name, found)


def within(name: str, moment: int) -> int:
    """The moment, if the calendar knows it."""
    if not EARLIEST <= moment <= LATEST:
        raise UsageError(f"range: {name} is out of range\n  expected a time from the year 2 to the year 9998")
    return moment
