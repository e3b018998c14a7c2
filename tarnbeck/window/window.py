"""Windows as users declare them: tumbling, rollup, all time."""

from __future__ import annotations

import zoneinfo
from dataclasses import dataclass

from tarnbeck.errors import DeclarationError, UsageError
from tarnbeck.window import duration as lengths
from tarnbeck.window.duration import DAY, HOUR, MINUTE, SECOND, WEEK, duration
from tarnbeck.window.pane import Calendar, Fixed, Pane, Whole


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
        return (Fixed(self.length, 4 * DAY if self.length % WEEK == 0 else 0),)

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


_UNIFORM = {"second": Fixed(SECOND), "minute": Fixed(MINUTE), "hour": Fixed(HOUR), "day": Fixed(DAY)}
CALENDAR = ("second", "minute", "hour", "day", "month", "year")

Window = AllTime | Tumbling | Rollup


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
