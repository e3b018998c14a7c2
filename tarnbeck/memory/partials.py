"""A view's plan event by event, in plain Python."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa

from tarnbeck.algebra.aggregate import UNIX, raw
from tarnbeck.algebra.state import Event, Raw
from tarnbeck.plan.keep import CLOCK, clock_row, newest_of
from tarnbeck.plan.view import View

Place = tuple[tuple[Raw, ...], int, int]
"""Raw keys, level, pane."""

Partial = dict[Place, tuple[Raw, ...]]

_MICROSECOND = datetime.timedelta(microseconds=1)


def rows(events: pa.Table) -> Iterator[dict[str, Any]]:
    """Decoded events as Python rows; maps become dicts, as expressions see them."""
    maps = [field.name for field in events.schema if pa.types.is_map(field.type)]
    for row in events.to_pylist():
        for name in maps:
            row[name] = None if row[name] is None else dict(row[name])
        yield row


def partials(view: View, events: Iterable[dict[str, Any]]) -> Partial:
    """The partial of a view over events: every event's own states, merged one by one."""
    states_of = _states_of(view)
    keys = [(key.expression.python(), key.type) for key in view.keys]
    passes = (lambda _: True) if view.where is None else view.where.python()
    merge = view.layout.merge
    found: Partial = {}
    for row in events:
        if passes(row) is not True or _late(view, row):
            continue
        moment = (row["_time"] - UNIX) // _MICROSECOND
        own = states_of(row, moment)
        place = tuple(raw(compute(row), type_) for compute, type_ in keys)
        for level, pane in enumerate(view.window.panes):
            at = (place, level, pane.start_of(moment))
            found[at] = merge(found[at], own) if at in found else own
    if view.clock is not None and found:
        place = tuple(None for _ in view.keys), CLOCK, 0
        found[place] = clock_row(view, newest_of(view, found.values()))[len(view.keys) + 2 :]
    return found


def _late(view: View, row: dict[str, Any]) -> bool:
    return view.late is not None and (row["_received"] - row["_time"]) // _MICROSECOND > view.late


def _states_of(view: View) -> Callable[[dict[str, Any], int], tuple[Raw, ...]]:
    calls = [
        (call.state.prepare, [(argument.python(), argument.type) for argument in call.arguments])
        for call in view.states
    ]

    def states(row: dict[str, Any], moment: int) -> tuple[Raw, ...]:
        order = (moment, row["_partition"], row["_offset"], row["_index"])
        fields: list[Raw] = []
        for prepare, arguments in calls:
            values = tuple([raw(argument(row), type_) for argument, type_ in arguments])  # type: ignore[arg-type]
            fields += prepare(Event(values, order))
        return tuple(fields)

    return states


def merged(view: View, parts: Iterable[Partial]) -> Partial:
    """Partials of several spans as one."""
    whole: Partial = {}
    for part in parts:
        for place, states in part.items():
            whole[place] = view.layout.merge(whole[place], states) if place in whole else states
    return whole
