"""The one-stage kernel: raw records of a micro-batch in, the partials of every fed view out, without a shuffle."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from tarnbeck.cut import Cut
from tarnbeck.plan import query
from tarnbeck.plan.query import Query
from tarnbeck.plan.view import View
from tarnbeck.schema.decode import decode
from tarnbeck.schema.stream import Stream
from tarnbeck.window.pane import Pane

OUTPUT = pa.schema([("version", pa.int64()), ("partial", pa.binary())])
CHUNK = 500_000
"""Records that are decoded and aggregated at once: bounds a worker's memory, whatever the micro-batch holds."""


@dataclass(frozen=True)
class Step:
    """One level of a view: a query over the table `source`, and the calendar pane to add to it first, if any."""

    sql: str
    calendar: Pane | None


@dataclass(frozen=True)
class Work:
    """What a worker must know of one fed view: plain text and numbers, because it travels with every micro-batch."""

    version: int
    start: Cut
    steps: tuple[Step, ...]
    schema: pa.Schema


@dataclass(frozen=True)
class Feed:
    """One stream and the views to compute from it."""

    stream: Stream
    works: tuple[Work, ...]


def work(version: int, start: Cut, view: View) -> Work:
    """The kernel's work for one version from its own cut on."""
    panes = view.window.panes
    queries = [query.partials(view, "duckdb")]
    queries += [query.regroup(view, level, "duckdb") for level in range(1, len(panes))]
    steps = [Step(_sql(q), p if query.calendar(p) else None) for q, p in zip(queries, panes, strict=True)]
    return Work(version, start, tuple(steps), view.layout.arrow)


def _sql(steps: Query) -> str:
    select = ", ".join(f"{sql} AS {name}" for name, sql in steps.select)
    where = f" WHERE {steps.where}" if steps.where is not None else ""
    calls = ", ".join([*steps.group, *(f"{sql} AS {name}" for name, sql in steps.aggregate)])
    project = ", ".join(f"{sql} AS {name}" for name, sql in steps.project)
    inner = f"SELECT {select} FROM source{where}"  # noqa: S608 (made of checked expressions only)
    grouped = f"SELECT {calls} FROM ({inner}) GROUP BY {', '.join(steps.group)}"  # noqa: S608
    return f"SELECT {project} FROM ({grouped})"  # noqa: S608


def run(feeds: Mapping[str, Feed], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Partials of all views, each as one Arrow IPC stream: few rows leave the worker, whatever comes in."""
    connection = _connection()
    for topic, records in _chunks(batches):
        for version, partial in _partials(connection, feeds[topic], records):
            yield pa.RecordBatch.from_arrays([pa.array([version]), pa.array([_pack(partial)])], schema=OUTPUT)


_OPEN = threading.local()


def _connection() -> duckdb.DuckDBPyConnection:
    """This thread's database: opening one costs more than a small micro-batch does, and Spark keeps its workers."""
    if not hasattr(_OPEN, "connection"):
        _OPEN.connection = duckdb.connect(":memory:", config={"threads": 1})
        _OPEN.connection.execute("SET TimeZone = 'UTC'")
    opened: duckdb.DuckDBPyConnection = _OPEN.connection
    return opened


def _chunks(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, pa.Table]]:
    waiting: dict[str, list[pa.RecordBatch]] = {}
    count = 0
    for batch in batches:
        for topic in pc.unique(batch.column("topic")).to_pylist():
            # A task reads one partition of one topic, so this is one slice in practice.
            waiting.setdefault(topic, []).append(batch.filter(pc.equal(batch.column("topic"), topic)))
        count += batch.num_rows
        if count >= CHUNK:
            yield from ((topic, _records(found)) for topic, found in waiting.items())
            waiting, count = {}, 0
    yield from ((topic, _records(found)) for topic, found in waiting.items())


def _records(batches: list[pa.RecordBatch]) -> pa.Table:
    return pa.Table.from_batches(batches).drop_columns(["topic"])


def _partials(connection: duckdb.DuckDBPyConnection, feed: Feed, records: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    events = decode(feed.stream, records).events
    if not events.num_rows:
        return
    for fed in feed.works:
        partial = compute(connection, fed, _from(events, fed.start))
        if partial.num_rows:
            yield fed.version, partial


def compute(connection: duckdb.DuckDBPyConnection, fed: Work, events: pa.Table) -> pa.Table:
    """The partial of one view over events: the finest level from the events, each coarser one from the one below."""
    levels, source = [], events
    for level, step in enumerate(fed.steps):
        source = _run(connection, step, source, "pane" if level else "_time")
        numbered = source.append_column("level", pa.repeat(pa.scalar(level, pa.int64()), source.num_rows))
        levels.append(numbered.select(fed.schema.names).cast(fed.schema))
    return pa.concat_tables(levels)


def _run(connection: duckdb.DuckDBPyConnection, step: Step, source: pa.Table, moment: str) -> pa.Table:
    """One step over an Arrow table."""
    if step.calendar is not None:
        moments = source.column(moment).cast(pa.int64()).to_numpy()
        source = source.append_column("_pane", pa.array(step.calendar.starts_of(moments)))
    connection.register("source", source)
    try:
        return connection.sql(step.sql).to_arrow_table()
    finally:
        connection.unregister("source")


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
