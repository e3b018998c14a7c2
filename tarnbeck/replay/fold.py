"""The events of a stream again, from the first on, and an application's state made of them by a function of its own."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from tarnbeck.cut import Cut, Span
from tarnbeck.errors import UsageError, unknown
from tarnbeck.log import topics
from tarnbeck.log.follow import batches, of_records
from tarnbeck.log.settings import LogSettings
from tarnbeck.memory.partials import rows
from tarnbeck.schema.decode import decode
from tarnbeck.schema.stream import Stream
from tarnbeck.store.definitions import stream_of
from tarnbeck.store.state import StreamState

STEP = 200_000
"""Records of the lake that are held at once."""

Event = dict[str, Any]
Step = Callable[[Any, Event], Any]
"""From a state and the next event to the state after it."""


@dataclass(frozen=True)
class Folded:
    """The state after all events below a cut: one, or one for each key."""

    state: Any
    cut: Cut
    events: int


@dataclass(frozen=True)
class Place:
    """Where a stream's events are: its log, and the lake for what the log no longer holds."""

    log: LogSettings
    lake: str
    folder: Path


def fold(place: Place, known: StreamState, step: Step, start: Any, by: str | Sequence[str] | None) -> Folded:
    """Goes through all events up to the log's end as of now, those of one partition in their order."""
    stream = stream_of(known)
    names = [by] if isinstance(by, str) else list(by or ())
    _refuse_disorder(stream, names)
    end = topics.end(place.log, stream.topic).with_history(known.lake_cut.history)
    states: dict[tuple[Any, ...], Any] = {}
    count = 0
    for event in events(place, stream, known.origin.span_to(known.origin.advance(end))):
        count += 1
        key = tuple(event[name] for name in names)
        # A step may change the state that it is given: no two keys may share one.
        before = states[key] if key in states else copy.deepcopy(start)
        states[key] = step(before, event)
    if not names:
        return Folded(states.get((), start), end, count)
    shown = {key[0]: state for key, state in states.items()} if isinstance(by, str) else states
    return Folded(shown, end, count)


def _refuse_disorder(stream: Stream, names: Sequence[str]) -> None:
    for name in names:
        if name not in stream.schema:
            raise UsageError(unknown(f"fold: stream '{stream.name}'", "column", name, stream.schema.names, "it"))
    if stream.partitions > 1 and stream.key not in names:
        hint = f"by={stream.key!r}" if stream.key else "a stream with a key, or with one partition"
        raise UsageError(
            f"fold: stream '{stream.name}': its partitions have no order among them\n"
            f"  expected states apart by the key that events are put into partitions by: {hint}"
        )


def events(place: Place, stream: Stream, span: Span) -> Iterator[Event]:
    """The events of a span: what came from files and what the log no longer holds from the lake, the rest from it."""
    old = span.start.with_history(span.end.history)
    low = old.advance(topics.beginning(place.log, stream.topic)).meet(span.end)
    below = [part for part in (span.start.span_to(old), old.span_to(low)) if part]
    if below:
        yield from _of_lake(place, stream, below)
    for records in batches(place.log, stream.topic, low, until=span.end):
        yield from rows(decode(stream, of_records(records)).events)


def _of_lake(place: Place, stream: Stream, spans: Sequence[Span]) -> Iterator[Event]:
    # Starting Spark takes seconds, and most logs still hold everything.
    from tarnbeck.lake import tables as lake
    from tarnbeck.lake.tables import Tables
    from tarnbeck.spark.session import session

    spark = session("fold", folder=place.folder, master="local[1]")
    try:
        for span in spans:
            before = span.start
            for cut in span.steps(STEP):
                found = lake.read(spark, Tables(place.lake, stream), before.span_to(cut)).toArrow()
                yield from rows(_in_order(found))
                before = cut
    finally:
        spark.stop()


def _in_order(events: pa.Table) -> pa.Table:
    return events.sort_by([(name, "ascending") for name in ("_partition", "_offset", "_index")])
