"""Windows as users declare them: tumbling, sliding, session, rollup, all time."""

from __future__ import annotations

import math
import zoneinfo
from collections.abc import Iterator
from dataclasses import dataclass

from tarnbeck.errors import DeclarationError, UsageError
from tarnbeck.window import duration as lengths
from tarnbeck.window.assemble import Assembled, Merge, Panes, sessions, slide
from tarnbeck.window.duration import DAY, HOUR, MINUTE, SECOND, WEEK, duration
from tarnbeck.window.pane import Calendar, Fixed, Pane, Whole


def _origin(length: int) -> int:
    """From when on windows are counted: 1970 began on a Thursday, but weeks begin on Mondays."""
    return 4 * DAY if length % WEEK == 0 else 0


@dataclass(frozen=True)
class AllTime:
    """One window that holds every event."""

    @property
    def panes(self) -> tuple[Pane, ...]:
        return (Whole(),)

    @property
    def levels(self) -> tuple[str, ...]:
        return ("all",)


@dataclass(frozen=True)
class Tumbling:
    """Windows of one length, side by side from 1970 on (whole weeks begin on a Monday), in UTC."""

    length: int

    @property
    def panes(self) -> tuple[Pane, ...]:
        return (Fixed(self.length, _origin(self.length)),)

    @property
    def levels(self) -> tuple[str, ...]:
        return (lengths.text(self.length),)


@dataclass(frozen=True)
class Rollup:
    """Calendar units, each kept at its own level, in one time zone."""

    units: tuple[str, ...]
    zone: str = "UTC"

    @property
    def panes(self) -> tuple[Pane, ...]:
        return tuple(_UNIFORM[unit] if self._uniform(unit) else Calendar(unit, self.zone) for unit in self.units)

    def _uniform(self, unit: str) -> bool:
        return unit in ("second", "minute") or (unit in _UNIFORM and self.zone == "UTC")

    @property
    def levels(self) -> tuple[str, ...]:
        return self.units


@dataclass(frozen=True)
class Sliding:
    """Windows of one length that start every so often and overlap, put together when read from panes they share."""

    length: int
    every: int

    @property
    def pane(self) -> Fixed:
        """The longest slice of which both the length and the distance are multiples."""
        return Fixed(math.gcd(self.length, self.every), _origin(self.every))

    @property
    def panes(self) -> tuple[Pane, ...]:
        return (self.pane,)

    @property
    def levels(self) -> tuple[str, ...]:
        return (lengths.text(self.length),)

    def end_of(self, start: int) -> int:
        return start + self.length

    def assembled(self, panes: Panes, merge: Merge, since: int | None, until: int | None) -> Iterator[Assembled]:
        """The windows that overlap [since, until)."""
        length, every, origin = self.length, self.every, self.pane.origin
        return slide(panes, merge, length=length, every=every, origin=origin, since=since, until=until)

    def reach(self, since: int | None, until: int | None) -> tuple[int | None, int | None]:
        """The time that windows overlapping this range may hold events of."""
        return (
            None if since is None else since - self.length,
            None if until is None else until + self.length,
        )


@dataclass(frozen=True)
class Session:
    """Windows without a fixed length: a session ends when no event comes for longer than the gap."""

    gap: int

    @property
    def panes(self) -> tuple[Pane, ...]:
        return (Fixed(self.gap),)

    @property
    def levels(self) -> tuple[str, ...]:
        return ("session",)

    def assembled(self, panes: Panes, merge: Merge, since: int | None, until: int | None) -> Iterator[Assembled]:
        """The sessions that overlap [since, until)."""
        return sessions(panes, merge, gap=self.gap, since=since, until=until)

    def reach(self, since: int | None, until: int | None) -> tuple[int | None, int | None]:
        """A session may be of any length, so all of a key's panes may belong to one."""
        return None, None


_UNIFORM = {"second": Fixed(SECOND), "minute": Fixed(MINUTE), "hour": Fixed(HOUR), "day": Fixed(DAY)}
CALENDAR = ("second", "minute", "hour", "day", "month", "year")

Window = AllTime | Tumbling | Rollup | Sliding | Session

MOST_PANES = 100_000
"""Panes that one sliding window may be put together from."""


def all_time() -> AllTime:
    """One window over all events ever received."""
    return AllTime()


def tumbling(length: str) -> Tumbling:
    """Windows of one length, side by side.

    >>> tumbling("1 minute").panes[0].start_of(61_000_000)
    60000000
    """
    try:
        return Tumbling(duration(length))
    except UsageError as wrong:
        raise DeclarationError(f"tumbling({length!r}): {wrong}") from None


def sliding(length: str, *, every: str) -> Sliding:
    """Windows of one length, a new one every so often: "the last ten minutes, every ten seconds".

    Events are kept in panes of the longest length that divides both, here ten seconds.

    >>> sliding("10 minutes", every="10 seconds").pane.length
    10000000
    """
    place = f"sliding({length!r}, every={every!r})"
    try:
        window = Sliding(duration(length), duration(every))
    except UsageError as wrong:
        raise DeclarationError(f"{place}: {wrong}") from None
    if window.every > window.length:
        raise DeclarationError(
            f"{place}: events between two windows would be in none\n  expected every to be at most the length"
        )
    if window.length // window.pane.length > MOST_PANES:
        raise DeclarationError(
            f"{place}: a window would be put together from {window.length // window.pane.length:,} panes of "
            f"{lengths.text(window.pane.length)}\n  choose lengths with a larger common divisor"
        )
    return window


def session(gap: str) -> Session:
    """Windows of activity: events no more than the gap apart are in one session.

    >>> session("30 minutes").gap
    1800000000
    """
    try:
        return Session(duration(gap))
    except UsageError as wrong:
        raise DeclarationError(f"session({gap!r}): {wrong}") from None


def rollup(*units: str, zone: str = "UTC") -> Rollup:
    """Calendar units kept side by side, from the finest to the coarsest, in a time zone.

    >>> rollup("minute", "day", zone="Europe/Vienna").levels
    ('minute', 'day')
    """
    for unit in units:
        if unit not in CALENDAR:
            raise DeclarationError(f"rollup: unknown unit {unit!r}\n  expected some of: {', '.join(CALENDAR)}")
    if not units or list(units) != sorted(set(units), key=CALENDAR.index):
        raise DeclarationError(
            f"rollup{units}: expected units from the finest to the coarsest, each once, such as "
            "rollup('minute', 'hour', 'day')"
        )
    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        raise DeclarationError(
            f"rollup: unknown time zone {zone!r}\n  expected a name such as 'Europe/Vienna'"
        ) from None
    return Rollup(tuple(units), zone)
