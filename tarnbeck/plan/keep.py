"""How long the panes of a view are kept: not part of what is computed, only of what is read, and later removed.

What counts as now is the newest arrival among the events that the view counts, up to the cut. It is a state like any
other, so batch, speed, replay and a recount have the same one at the same cut. Every row has the newest of its own
events; one row at a level of its own, `CLOCK`, has the newest of all, with nothing else in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tarnbeck.algebra.state import Raw
from tarnbeck.plan.view import View
from tarnbeck.window.window import Session

CLOCK = -1
"""The level of the row that has the newest arrival."""


@dataclass(frozen=True)
class Kept:
    """From when on a level is kept: its first pane, and the earliest start of a window that is sure to be whole."""

    pane: int
    window: int


def kept(view: View, level: int, newest: int | None) -> Kept | None:
    """What is kept of a level when so much has arrived; None when that is everything.

    A pane is kept until its end lies more than `keep` before the newest arrival.
    """
    keep = view.keep[level] if view.keep else None
    if keep is None or newest is None:
        return None
    first = view.window.panes[level].start_of(newest - keep - 1)
    # What begins sooner than one gap after may be the rest of a session that is no longer there.
    return Kept(first, first + view.window.gap if isinstance(view.window, Session) else first)


def clock_row(view: View, newest: Raw) -> tuple[Raw, ...]:
    """Keys, level, pane and states of the row that has the newest arrival."""
    states = list(view.neutral)
    states[_place(view)] = newest
    return (*(None for _ in view.keys), CLOCK, 0, *states)


def newest_of(view: View, rows: Iterable[tuple[Raw, ...]]) -> int | None:
    """The newest arrival in rows of states."""
    place = _place(view)
    found = [int(row[place]) for row in rows if row[place] is not None]  # type: ignore[arg-type]
    return max(found, default=None)


def _place(view: View) -> int:
    place = view.clock
    assert place is not None  # noqa: S101 (asked by the caller)
    return place
