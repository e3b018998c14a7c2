"""Longer windows, put together from stored ones: multiples of their length, and units of the calendar."""

from __future__ import annotations

import re

from tarnbeck.errors import UsageError
from tarnbeck.plan.view import View
from tarnbeck.window import duration
from tarnbeck.window.duration import DAY, HOUR, MINUTE
from tarnbeck.window.pane import Calendar, Fixed, Pane, Whole
from tarnbeck.window.window import CALENDAR, Rollup, Tumbling, Window

Every = int | str
"""A length in microseconds, or a unit of the calendar that has no fixed one."""

_UNITS = re.compile(r"\s*(\d+)?\s*(month|year)s?\s*", re.ASCII)
_IN_ZONE = {HOUR: "hour", DAY: "day"}
"""Lengths that mean what clocks show, where there is a time zone."""
_UTC = "UTC"


def read(text: str) -> Every:
    """What people write for longer windows.

    >>> read("15 minutes"), read("1 month"), read("year")
    (900000000, 'month', 'year')
    """
    found = _UNITS.fullmatch(text.lower())
    if found is None:
        return duration.duration(text)
    if int(found[1] or 1) != 1:
        raise UsageError(f"every={text!r}: expected one calendar unit\n  such as '1 month' or '1 year'")
    return found[2]


def text(every: Every) -> str:
    """The text that `read` reads back."""
    return f"1 {every}" if isinstance(every, str) else duration.text(every)


def window(view: View, every: Every, level: int) -> Window:
    """The windows that a view's panes of one level are put together to."""
    place, pane = f"view '{view.name}'", view.window.panes[level]
    if not isinstance(view.window, (Tumbling, Rollup)):
        raise UsageError(f"{place}: every: its windows can't be put together to longer ones\n  leave it out")
    zone = view.window.zone if isinstance(view.window, Rollup) else _UTC
    unit = every if isinstance(every, str) else None if zone == _UTC else _IN_ZONE.get(every)
    if unit is not None:
        if not _fits(pane, unit, zone):
            raise UsageError(
                f"{place}: every={text(every)!r}: its windows can't be put together to {unit}s\n"
                "  leave it out, or choose a finer level"
            )
        return Rollup((unit,), zone)
    assert not isinstance(every, str)  # noqa: S101 (a unit was looked at above)
    if zone != _UTC and every > HOUR:
        raise UsageError(
            f"{place}: every={text(every)!r}: its time zone is {zone}, where such windows begin at no fixed hour\n"
            "  expected at most an hour, or a unit of the calendar: 1 hour, 1 day, 1 month, 1 year"
        )
    return Tumbling(_multiple(place, pane, every))


def _fits(pane: Pane, unit: str, zone: str) -> bool:
    """Whether no pane belongs to two of these units; zones stand off UTC by whole quarters of an hour."""
    match pane:
        case Calendar():
            return pane.zone == zone and CALENDAR.index(pane.unit) <= CALENDAR.index(unit)
        case Fixed():
            return (DAY if zone == _UTC else 15 * MINUTE) % pane.length == 0 and pane.origin % pane.length == 0
        case Whole():
            return False


def _multiple(place: str, pane: Pane, every: int) -> int:
    if not isinstance(pane, Fixed):
        raise UsageError(f"{place}: every: its windows can't be put together to longer ones\n  leave it out")
    # Weeks begin on Monday, so panes of other lengths don't fit into them unless they fit into a day.
    if every % pane.length or (Tumbling(every).panes[0].start_of(0) - pane.origin) % pane.length:
        raise UsageError(
            f"{place}: every={text(every)!r}: expected a multiple of {text(pane.length)!r}, the length of its windows"
        )
    return every
