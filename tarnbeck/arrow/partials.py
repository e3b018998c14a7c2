"""A view's plan over Arrow tables, by DuckDB: events in, partials of all its levels out."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from tarnbeck.algebra.packed import Packed
from tarnbeck.plan import query
from tarnbeck.plan.keep import clock_row
from tarnbeck.plan.query import Query
from tarnbeck.plan.view import View
from tarnbeck.window.pane import Pane


@dataclass(frozen=True)
class Step:
    """One level of a view: a query over the table `source`, and the calendar pane to add to it first, if any."""

    sql: str
    calendar: Pane | None


@dataclass(frozen=True)
class Clock:
    """The column of the newest arrival, and the row that has the newest of all, with none in it yet."""

    column: str
    row: pa.Table


@dataclass(frozen=True)
class Steps:
    """A view as a worker needs it: plain text, numbers and small states, because it travels with every micro-batch."""

    levels: tuple[Step, ...]
    packed: tuple[tuple[str, Packed], ...]
    schema: pa.Schema
    clock: Clock | None


def steps(view: View) -> Steps:
    """What computes the partials of a view."""
    panes = view.window.panes
    queries = [query.partials(view, "duckdb")]
    queries += [query.regroup(view, level, "duckdb") for level in range(1, len(panes))]
    levels = [Step(_sql(q), p if query.calendar(p) else None) for q, p in zip(queries, panes, strict=True)]
    return Steps(tuple(levels), view.packed, view.layout.arrow, None if view.clock is None else _clock(view))


def _clock(view: View) -> Clock:
    cells = zip(clock_row(view, None), view.layout.arrow, strict=True)
    row = pa.Table.from_arrays([pa.array([cell], field.type) for cell, field in cells], schema=view.layout.arrow)
    return Clock(f"s{view.clock}", row)


def _sql(pieces: Query) -> str:
    select = ", ".join(f"{sql} AS {name}" for name, sql in pieces.select)
    where = f" WHERE {pieces.where}" if pieces.where is not None else ""
    calls = ", ".join([*pieces.group, *(f"{sql} AS {name}" for name, sql in pieces.aggregate)])
    project = ", ".join(f"{sql} AS {name}" for name, sql in pieces.project)
    inner = f"SELECT {select} FROM source{where}"  # noqa: S608 (made of checked expressions only)
    grouped = f"SELECT {calls} FROM ({inner}) GROUP BY {', '.join(pieces.group)}"  # noqa: S608
    return f"SELECT {project} FROM ({grouped})"  # noqa: S608


_OPEN = threading.local()


def connection() -> duckdb.DuckDBPyConnection:
    """This thread's database: opening one costs more than a small micro-batch does, and Spark keeps its workers."""
    if not hasattr(_OPEN, "connection"):
        _OPEN.connection = duckdb.connect(":memory:", config={"threads": 1})
        _OPEN.connection.execute("SET TimeZone = 'UTC'")
    opened: duckdb.DuckDBPyConnection = _OPEN.connection
    return opened


def partials(plan: Steps, events: pa.Table) -> pa.Table:
    """The partial of one view over events: the finest level from the events, each coarser one from the one below."""
    levels, source = [], events
    for level, step in enumerate(plan.levels):
        source = _run(step, source, "pane" if level else "_time")
        for name, state in plan.packed:
            column = source.schema.get_field_index(name)
            lists = source.column(name).combine_chunks()
            source = source.set_column(column, name, state.settle(lists, regrouped=level > 0))
        numbered = source.append_column("level", pa.repeat(pa.scalar(level, pa.int64()), source.num_rows))
        levels.append(numbered.select(plan.schema.names).cast(plan.schema))
    if plan.clock is not None and levels[0].num_rows:
        levels.append(_ticked(plan.clock, levels[0]))
    return pa.concat_tables(levels)


def _ticked(clock: Clock, finest: pa.Table) -> pa.Table:
    """The row that has the newest arrival of all."""
    place = clock.row.schema.get_field_index(clock.column)
    newest = pc.max(finest.column(clock.column))
    return clock.row.set_column(place, clock.row.schema.field(place), pa.array([newest.as_py()], pa.int64()))


def _run(step: Step, source: pa.Table, moment: str) -> pa.Table:
    """One step over an Arrow table."""
    if step.calendar is not None:
        moments = source.column(moment).cast(pa.int64()).to_numpy()
        source = source.append_column("_pane", pa.array(step.calendar.starts_of(moments)))
    opened = connection()
    opened.register("source", source)
    try:
        return opened.sql(step.sql).to_arrow_table()
    finally:
        opened.unregister("source")
