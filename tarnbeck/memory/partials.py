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
    nested = {field.name: read for field in events.schema if (read := _reader(field.type)) is not None}
    for row in events.to_pylist():
        for name, read in nested.items():
            row[name] = read(row[name])
        yield row


def _reader(type_: pa.DataType) -> Callable[[Any], Any] | None:
    """What makes maps dicts, however deep they are; None where there are none."""
    if pa.types.is_map(type_):
        item = _reader(type_.item_type) or _same
        return lambda found: None if found is None else {key: item(value) for key, value in found}
    if pa.types.is_list(type_):
        element = _reader(type_.value_type)
        return None if element is None else lambda found: None if found is None else [element(each) for each in found]
    if pa.types.is_struct(type_):
        inner = {field.name: read for field in type_ if (read := _reader(field.type)) is not None}
        if inner:
            return lambda found: (
                found if found is None else {**found, **{n: read(found[n]) for n, read in inner.items()}}
            )
    return None


def _same(found: Any) -> Any:
    return found


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
