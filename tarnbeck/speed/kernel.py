"""The one-stage kernel: raw records of a micro-batch in, the partials of every fed view out, without a shuffle."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from tarnbeck.arrow.partials import Steps, partials, steps
from tarnbeck.cut import Cut
from tarnbeck.plan.view import View
from tarnbeck.schema.decode import decode
from tarnbeck.schema.stream import Stream

OUTPUT = pa.schema([("version", pa.int64()), ("partial", pa.binary())])
CHUNK = 64 << 20
"""Bytes of records that are decoded and aggregated at once: bounds a worker's memory, whatever a micro-batch holds."""


@dataclass(frozen=True)
class Work:
    """What a worker must know of the fed views that go on from one cut."""

    start: Cut
    versions: tuple[int, ...]
    steps: Steps


@dataclass(frozen=True)
class Feed:
    """One stream and the views to compute from it."""

    stream: Stream
    works: tuple[Work, ...]


def feed(stream: Stream, fed: Sequence[tuple[int, Cut, View]]) -> Feed:
    """The kernel's work for versions of views of one stream, each from its own cut on; those at one cut share it.

    Where they are in the history does not matter: that is in no micro-batch.
    """
    works = []
    for start in dict.fromkeys(cut.log for _, cut, _ in fed):
        together = [(version, view) for version, cut, view in fed if cut.log == start]
        works.append(Work(start, tuple(version for version, _ in together), _steps(*(view for _, view in together))))
    return Feed(stream, tuple(works))


_steps = functools.lru_cache(maxsize=64)(steps)
"""Micro-batch after micro-batch has the same views."""


def run(
    feeds: Mapping[str, Sequence[Feed]],
    batches: Iterator[pa.RecordBatch],
    weighed: Callable[[int], None] = lambda _: None,
) -> Iterator[pa.RecordBatch]:
    """Partials of all views, each as one Arrow IPC stream: few rows leave the worker, whatever comes in.

    `feeds` are those of each topic, which several streams may stand for; `weighed` is told the bytes of the records.
    """
    for topic, records in _chunks(batches):
        weighed(records.nbytes)
        for version, partial in (each for feed in feeds.get(topic, ()) for each in _partials(feed, records)):
            yield pa.RecordBatch.from_arrays([pa.array([version]), pa.array([_pack(partial)])], schema=OUTPUT)


def _chunks(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, pa.Table]]:
    waiting: dict[str, list[pa.RecordBatch]] = {}
    size = 0
    for batch in batches:
        for topic in pc.unique(batch.column("topic")).to_pylist():
            # A task reads one partition of one topic, so this is one slice in practice.
            waiting.setdefault(topic, []).append(batch.filter(pc.equal(batch.column("topic"), topic)))
        size += batch.nbytes
        if size >= CHUNK:
            yield from ((topic, _records(found)) for topic, found in waiting.items())
            waiting, size = {}, 0
    yield from ((topic, _records(found)) for topic, found in waiting.items())


def _records(batches: list[pa.RecordBatch]) -> pa.Table:
    found = pa.Table.from_batches(batches).drop_columns(["topic"])
    # Only the quarantine wants to know the key of a record, so it is not even brought here.
    return found.append_column("key", pa.nulls(found.num_rows, pa.binary()))


def _partials(feed: Feed, records: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    events = decode(feed.stream, records).events
    if not events.num_rows:
        return
    for work in feed.works:
        found = partials(work.steps, _from(events, work.start))
        yield from (
            (version, partial) for version, partial in zip(work.versions, found, strict=True) if partial.num_rows
        )


def _from(events: pa.Table, start: Cut) -> pa.Table:
    """The events at or above the cut; a micro-batch that starts there is taken as it is."""
    offsets = pc.min(events.column("_offset")).as_py()
    if all(offset <= offsets for _, offset in start):
        return events
    keep = pa.repeat(pa.scalar(True), events.num_rows)
    for partition, offset in start:
        other = pc.not_equal(events.column("_partition"), partition)
        keep = pc.and_(keep, pc.or_(other, pc.greater_equal(events.column("_offset"), offset)))
    return events.filter(keep)


def _pack(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(table)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def unpack(packed: bytes) -> pa.Table:
    """The partial that a worker packed."""
    with pa.ipc.open_stream(packed) as reader:
        return reader.read_all()
