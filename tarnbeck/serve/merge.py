"""From stored states to rows: panes are read and merged, windows put together, states finished, rows ordered."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from tarnbeck.algebra.state import Raw
from tarnbeck.errors import UsageError
from tarnbeck.plan.view import View
from tarnbeck.serve import moment
from tarnbeck.serve.memo import Plan, Row
from tarnbeck.serve.shape import Merged
from tarnbeck.serve.wanted import Wanted, of, seeks
from tarnbeck.store import keys as encoding
from tarnbeck.store.protocol import Snapshot
from tarnbeck.window.window import Session, Sliding

Range = tuple[int | None, int | None]
"""From and up to, in UTC microseconds; None where there is no bound."""


def read(
    snapshot: Snapshot,
    view: View,
    level: int,
    wanted: Wanted,
    panes: Range,
    reach: int,
) -> Merged:
    """The merged states of every pane of one level in a range of panes."""
    first, where, compared = seeks(wanted, len(view.keys))
    split, merge = len(view.keys) + 2, view.layout.merge
    found: Merged = {}
    for key in first:
        for part in snapshot.parts(view.name, level=level, key=key, where=where, start=panes[0], end=panes[1]):
            for row in of(part, compared):
                at, states = row[:split], row[split:]
                known = found.get(at)
                found[at] = states if known is None else merge(known, states)
                if len(found) > reach:
                    raise _too_far(view, reach)
    return found


def assembled(view: View, merged: Merged, asked: Range, reach: int) -> Merged:
    """The windows that overlap the asked range, put together from the panes of each key."""
    window = view.window
    assert isinstance(window, (Sliding, Session))  # noqa: S101 (asked by the caller)
    keys: dict[tuple[Raw, ...], dict[int, tuple[Raw, ...]]] = {}
    for at, states in merged.items():
        keys.setdefault(at[:-1], {})[at[-1]] = states
    found: Merged = {}
    for key, panes in keys.items():
        for each in window.assembled(panes, view.layout.merge, *asked):
            found[(*key, each.start)] = each.states
            if len(found) > reach:
                raise _too_far(view, reach)
    return found


def _too_far(view: View, reach: int) -> UsageError:
    return UsageError(
        f"view '{view.name}': the question reaches more than {reach:,} rows\n"
        "  narrow it: give more keys, a shorter range, or a coarser level"
    )


def rows(plan: Plan, level: int, merged: Merged, limit: int, *, one: bool) -> list[Row]:
    """The rows to show; those of `one` key are ordered by their start alone."""
    finish, read, depth = plan.finish, plan.read_keys, len(plan.view.keys)
    ordered = sorted(merged, key=itemgetter(-1))[-limit:] if one else _ordered(plan.view, merged, limit)
    if isinstance(plan.view.window, Session):
        # How long a session lasts is among its states.
        gap = plan.view.window.gap
        last: dict[tuple[Any, ...], Any] = {at: merged[at][1] + gap for at in ordered}  # type: ignore[operator]
        return [(*read(at[:depth]), *moment.bounds(at[-1], last[at]), *finish(merged[at])) for at in ordered]
    window = plan.windows[level]
    if one and ordered:
        keys = read(ordered[0][:depth])
        return [(*keys, *window(at[-1]), *finish(merged[at])) for at in ordered]
    return [(*read(at[:depth]), *window(at[-1]), *finish(merged[at])) for at in ordered]


def _ordered(view: View, merged: Merged, limit: int) -> list[tuple[Any, ...]]:
    """The places to show, by keys and start; when there are too many, those of the newest windows."""
    depth, physicals = len(view.keys), view.layout.keys

    def place(at: tuple[Any, ...]) -> tuple[bytes, int]:
        return encoding.encode(at[:depth], physicals), at[-1]

    ordered: list[tuple[Any, ...]] = sorted(merged, key=place)
    if len(ordered) > limit:
        # Sorting is stable: of windows that start together, those of the first keys stay.
        ordered = sorted(sorted(ordered, key=lambda at: at[-1], reverse=True)[:limit], key=place)
    return ordered
