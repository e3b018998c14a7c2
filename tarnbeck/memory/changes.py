"""The changes of a table's rows as people see them: what one change says, and which of many holds at a moment."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tarnbeck.algebra.aggregate import UNIX, raw, reader
from tarnbeck.algebra.state import Raw
from tarnbeck.expression import check
from tarnbeck.memory.partials import Partial, partials, rows
from tarnbeck.plan.derive import AFTER, BEFORE, CUT, TIME
from tarnbeck.plan.table import ORDER
from tarnbeck.plan.view import Measure, View
from tarnbeck.schema.decode import events_schema
from tarnbeck.schema.stream import Join, Stream

Row = tuple[Any, ...]
Key = tuple[Raw, ...]
Values = tuple[Any, ...]
_MICROSECOND = datetime.timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a row: its place in time, when the log received it, its key, raw and as users see it, its columns.

    Without columns it says that the row is no more.
    """

    order: tuple[int, int, int, int]
    received: int
    key: Key
    keys: Values
    values: Values | None


Visible = Callable[[Change], bool]
Lookup = Callable[[Key, int | None, Visible], Change | None]
"""The newest change of a key that happened at a moment or before, or ever, and can be seen."""


def change_of(view: View) -> Callable[[Row], Change]:
    """A function that reads a stored row of a table: keys, level, pane, states."""
    assert view.table is not None  # noqa: S101 (asked for tables only)
    own, depth = len(view.keys) - len(ORDER), len(view.keys) + 2
    deleting = view.table.deleted is not None
    keys = [reader(key.type) for key in view.keys[:own]]
    columns = [
        (depth + output.states[0], reader(output.argument_types[0]))
        for output in view.outputs
        if isinstance(output, Measure)
    ]

    def read(row: Row) -> Change:
        gone = deleting and row[depth + 1]
        values = None if gone else tuple([show(row[place]) for place, show in columns])
        key = row[:own]
        shown = tuple([show(value) for show, value in zip(keys, key, strict=True)])
        return Change(row[own : own + len(ORDER)], row[depth], key, shown, values)

    return read


def changes_of(view: View, partial: Partial) -> Iterator[Change]:
    """The changes in a partial of a table."""
    read = change_of(view)
    return (read((*keys, level, pane, *states)) for (keys, level, pane), states in partial.items())


def among(changes: Iterable[Change]) -> Lookup:
    """A lookup in changes that are at hand."""
    by_key: dict[Key, list[Change]] = {}
    for change in changes:
        by_key.setdefault(change.key, []).append(change)

    def lookup(key: Key, moment: int | None, visible: Visible) -> Change | None:
        known = (c for c in by_key.get(key, ()) if (moment is None or c.order[0] <= moment) and visible(c))
        return max(known, key=lambda change: change.order, default=None)

    return lookup


def joined(join: Join, table: View, source: Stream, events: pa.Table, lookup: Lookup) -> pa.Table:
    """Events with one column more: the row of the table that was true at each one's time, by what was known."""
    key_of, names = _keys(join, table, source), [output.name for output in table.outputs]
    found = []
    for row in rows(events):
        until = _micros(row["_received"]) + join.wait
        held = lookup(key_of(row), _micros(row["_time"]), lambda change: change.received <= until)  # noqa: B023
        values = None if held is None else held.values
        found.append(None if values is None else dict(zip(names, values, strict=True)))
    known = events_schema(_row_stream(table))
    kind = pa.struct([known.field(name) for name in names])
    return events.append_column(join.table, pa.array(found, kind))


def _row_stream(table: View) -> Stream:
    assert table.table is not None  # noqa: S101 (asked for tables only)
    return table.table.over.stream


def _keys(join: Join, table: View, source: Stream) -> Callable[[Mapping[str, Any]], Key]:
    columns = {column.name: column.type for column in source.schema}
    types = {key.name: key.type for key in table.keys}
    compute = [
        (check(text, columns, place="join", owner=f"stream '{source.name}'").python(), types[name])
        for name, text in join.on
    ]
    return lambda row: tuple(raw(value(row), type_) for value, type_ in compute)


def told(view: View, events: Sequence[dict[str, Any]], lookup: Lookup) -> Iterator[tuple[Change, dict[str, Any]]]:
    """The change log of events: what each changed of the row that holds, by the log before it."""
    own = len(view.keys) - len(ORDER)
    names, keys = [output.name for output in view.outputs], [key.name for key in view.keys[:own]]
    first: dict[int, int] = {}
    for event in events:
        first.setdefault(event["_partition"], event["_offset"])

    def earlier(change: Change) -> bool:
        return change.order[2] < first.get(change.order[1], 0)

    holds: dict[Key, Change | None] = {}
    for change in sorted(changes_of(view, partials(view, events)), key=lambda change: change.order[1:]):
        if change.key not in holds:
            holds[change.key] = lookup(change.key, None, earlier)
        before = holds[change.key]
        if before is not None and before.order > change.order:
            continue
        holds[change.key] = change
        old = None if before is None else before.values
        if old == change.values:
            continue
        _, partition, offset, _ = change.order
        yield (
            change,
            {
                TIME: UNIX + change.order[0] * _MICROSECOND,
                **dict(zip(keys, change.keys, strict=True)),
                BEFORE: None if old is None else dict(zip(names, old, strict=True)),
                AFTER: None if change.values is None else dict(zip(names, change.values, strict=True)),
                CUT: f"{partition}:{offset + 1}",
            },
        )


def _micros(moment: datetime.datetime) -> int:
    return (moment - UNIX) // _MICROSECOND
