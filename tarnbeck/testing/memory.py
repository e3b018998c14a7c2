"""Runs an application's declarations in plain Python: events in, the rows of every view out."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tarnbeck.algebra.aggregate import UNIX
from tarnbeck.algebra.state import Raw
from tarnbeck.app import App
from tarnbeck.arrow.derive import derived
from tarnbeck.errors import UsageError, unknown
from tarnbeck.memory.changes import Lookup, always, among, changes_of
from tarnbeck.memory.partials import Partial, partials, rows
from tarnbeck.plan.keep import kept, newest_of
from tarnbeck.plan.view import View
from tarnbeck.schema.decode import decode
from tarnbeck.schema.encode import to_json
from tarnbeck.schema.packs import GivesArrow, Pack, of_table
from tarnbeck.schema.stream import Arrival, Derivation, Stream
from tarnbeck.serve import held
from tarnbeck.serve.answer import Answer
from tarnbeck.serve.client import Client
from tarnbeck.serve.held import When, when
from tarnbeck.serve.moment import bounds
from tarnbeck.serve.table import SqlAnswer
from tarnbeck.testing import stored
from tarnbeck.window.assemble import Assembled
from tarnbeck.window.window import AllTime, Session, Sliding

Event = Mapping[str, Any] | bytes | Pack | GivesArrow
"""Columns by name, or the bytes of a record as a producer would send them; a table or a pack is many events at once."""

PLAIN = "application/json"
"""A content type that is no pack's."""


@dataclass(frozen=True)
class Run:
    """What the views of an application answer over some events, and what was quarantined."""

    app: App
    partials: Mapping[str, Partial]
    rejects: Mapping[str, list[str]]
    records: Mapping[str, int]

    def rows(
        self, view: str, per: str | None = None, *, as_of: str | datetime.datetime | None = None
    ) -> list[dict[str, Any]]:
        """The rows of a view, by keys and start; `per` is a rollup's level, the finest when left out.

        `as_of` asks a table, or a view over one, for what was true at a moment.
        """
        if view not in self.partials:
            raise UsageError(unknown("run", "view", view, self.partials, f"app '{self.app.name}'"))
        plan = self.app.views[view]
        levels = plan.window.levels
        if per is not None and per not in levels:
            raise UsageError(unknown(f"view '{view}'", "level", per, levels, "its window"))
        if plan.table is not None:
            return _held(plan, self.partials[view], when(as_of, None, None))
        return rows_of(plan, self.partials[view], 0 if per is None else levels.index(per))

    __getitem__ = rows

    def query(self, view: str, /, **question: Any) -> Answer:
        """The answer to any question that `client.query` takes, such as `by=`, `top=` or `ask=`."""
        with self.asked() as client:
            return client.query(view, **question)

    def sql(self, text: str) -> SqlAnswer:
        """The answer to a SQL query over the views."""
        with self.asked() as client:
            return client.sql(text)

    def asked(self) -> AbstractContextManager[Client]:
        """A client that asks these views as if a running app had them."""
        return stored.asked(self.app, self.partials, self.records)


def run(
    app: App,
    events: Iterable[Event] | Mapping[str, Iterable[Event]],
    *,
    received: datetime.datetime | None = None,
) -> Run:
    """Runs all views over events; an app with several streams takes a mapping from stream to events.

    `received` is when the log would have received them. Without it, each arrives when the newest event of its stream so
    far has happened, so that `late` and `keep` count from there; those of streams with `time=tb.arrival()` in 1970.
    """
    by_stream = _by_stream(app, events)
    found: dict[str, Partial] = {}
    rejects: dict[str, list[str]] = {}
    records: dict[str, int] = {}
    decoded_events: dict[str, pa.Table] = {}
    for name, stream in app.streams.items():
        given = by_stream.get(name, ())
        if stream.derived is not None:
            source = app.streams[stream.derived.source]
            looked_up = _looked_up(app, stream.derived, found)
            given = [made.value for made in derived(stream, source, decoded_events[source.name], *looked_up)]
        in_log = _records(stream, given, received or UNIX)
        decoded, records[name] = decode(stream, in_log), in_log.num_rows
        by_event_time = received is None and not isinstance(stream.time, Arrival)
        decoded_events[name] = _in_order(decoded.events) if by_event_time else decoded.events
        rejects[name] = decoded.rejects.column("reason").to_pylist()
        kept = list(rows(decoded_events[name]))
        found |= {view.name: partials(view, kept) for view in app.views.values() if view.stream is stream}
    return Run(app, found, rejects, records)


def _looked_up(app: App, made: Derivation, found: Mapping[str, Partial]) -> tuple[View | None, Lookup | None]:
    """The table that a stream is made with, and a lookup in all that is known of it."""
    if made.join is not None and made.join.static:
        return always(made.join.definition)
    wanted = made.join or made.changes
    if wanted is None:
        return None, None
    table = app.views[wanted.table]
    return table, among(changes_of(table, found[table.name]))


def _by_stream(app: App, events: Iterable[Event] | Mapping[str, Iterable[Event]]) -> Mapping[str, Iterable[Event]]:
    if isinstance(events, Mapping):
        for name in events:
            if name not in app.streams:
                raise UsageError(unknown("run", "stream", name, app.streams, f"app '{app.name}'"))
        return events
    own = [name for name, stream in app.streams.items() if stream.derived is None]
    if len(own) != 1:
        raise UsageError(
            f"run: app '{app.name}' has {len(own)} streams\n  say which: run(app, {{'stream': events, …}})"
        )
    return {own[0]: events}


def _records(stream: Stream, events: Iterable[Event], received: datetime.datetime) -> pa.Table:
    packed = [_packed(stream, event) for event in events]
    count = len(packed)
    return pa.table(
        {
            "partition": pa.array([0] * count, pa.int32()),
            "offset": pa.array(range(count), pa.int64()),
            "timestamp": pa.array([received] * count, pa.timestamp("us", "UTC")),
            "key": pa.nulls(count, pa.binary()),
            "value": pa.array([each.value for each in packed], pa.binary()),
            "content_type": pa.array([each.content_type.encode() for each in packed], pa.binary()),
        }
    )


def _in_order(events: pa.Table) -> pa.Table:
    """Events of which each is received when the newest so far has happened."""
    times = events.column("_time")
    newest = np.maximum.accumulate(times.cast(pa.int64()).to_numpy())
    place = events.schema.get_field_index("_received")
    return events.set_column(place, events.schema.field(place), pa.array(newest, pa.int64()).cast(times.type))


def _packed(stream: Stream, event: Event) -> Pack:
    """A record's value, and what it is."""
    if isinstance(event, Pack):
        return event
    if isinstance(event, GivesArrow):
        return of_table(pa.table(event))
    return Pack(event if isinstance(event, bytes) else to_json(stream, event), PLAIN)


def _held(view: View, partial: Partial, moment: When) -> list[dict[str, Any]]:
    """The rows of a table that hold, or what a view over it makes of them."""
    assert view.table is not None  # noqa: S101 (asked for tables only)
    changes = ((*keys, level, pane, *states) for (keys, level, pane), states in partial.items())
    found = held.states(view, held.newest(view, changes, moment, len(partial)))
    return rows_of(view.table.over, {(at[:-2], *at[-2:]): states for at, states in found.items()}, 0)


def rows_of(view: View, partial: Partial, level: int) -> list[dict[str, Any]]:
    """A partial's rows of one level, finished, by keys and start, without what is no longer kept."""
    newest = newest_of(view, partial.values()) if view.clock is not None else None
    bound = kept(view, level, newest)
    windows = [found for found in _assembled(view, partial, level) if bound is None or found[1].start >= bound.window]
    windows.sort(key=lambda found: ([(key is not None, key) for key in found[0]], found[1].start))
    outputs = [output.name for output in view.outputs]
    found = []
    for keys, window in windows:
        row = dict(zip((key.name for key in view.keys), view.read_keys(keys), strict=True))
        if not isinstance(view.window, AllTime):
            row |= dict(zip(("start", "end"), bounds(window.start, window.end), strict=True))
        found.append(row | dict(zip(outputs, view.finish(window.states), strict=True)))
    return found


def _assembled(view: View, partial: Partial, level: int) -> list[tuple[tuple[Raw, ...], Assembled]]:
    """The windows of each key: its panes as they are, or what is put together from them."""
    pane = view.window.panes[level]
    panes: dict[tuple[Raw, ...], dict[int, tuple[Raw, ...]]] = {}
    for (keys, at, start), states in partial.items():
        if at == level:
            panes.setdefault(keys, {})[start] = states
    if isinstance(view.window, (Sliding, Session)):
        assembled = view.window.assembled
        return [(keys, each) for keys, held in panes.items() for each in assembled(held, view.layout.merge, None, None)]
    return [
        (keys, Assembled(start, pane.end_of(start) or 0, states))
        for keys, held in panes.items()
        for start, states in held.items()
    ]
