"""The plans of views over Arrow tables, by DuckDB: events in, partials of all their levels out."""

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
from tarnbeck.plan.share import Aggregation, Part, share
from tarnbeck.plan.view import View
from tarnbeck.window.pane import Pane


@dataclass(frozen=True)
class Step:
    """One aggregation: a query over the table `source`, and the calendar pane to add to it first, if any.

    The table is that of the events, or these columns of what an earlier step gave.
    """

    sql: str
    calendar: Pane | None
    source: int | None
    columns: tuple[str, ...]
    names: tuple[str, ...]
    packed: tuple[tuple[str, Packed], ...]


@dataclass(frozen=True)
class Clock:
    """The column of the newest arrival, and the row that has the newest of all, with none in it yet."""

    column: str
    row: pa.Table


@dataclass(frozen=True)
class Projection:
    """One view: the columns of its partial, where each of its levels comes from, and its clock, if it has one."""

    schema: pa.Schema
    levels: tuple[Part, ...]
    clock: Clock | None


@dataclass(frozen=True)
class Steps:
    """Views as a worker needs them: plain text, numbers and small states, because it travels with every micro-batch."""

    steps: tuple[Step, ...]
    views: tuple[Projection, ...]


def steps(*views: View) -> Steps:
    """What computes the partials of views of one stream, in this order."""
    shared = share(views)
    projections = [
        Projection(view.layout.arrow, parts, None if view.clock is None else _clock(view))
        for view, parts in zip(views, shared.views, strict=True)
    ]
    return Steps(tuple(map(_step, shared.aggregations)), tuple(projections))


def _step(planned: Aggregation) -> Step:
    view, pane = planned.view, planned.view.window.panes[planned.level]
    pieces = query.partials(view, "duckdb") if planned.source is None else query.regroup(view, planned.level, "duckdb")
    names = tuple(name for name in view.layout.arrow.names if name != "level")
    calendar = pane if query.calendar(pane) else None
    return Step(_sql(pieces), calendar, planned.source, planned.columns, names, view.packed)


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


def partials(plan: Steps, events: pa.Table) -> list[pa.Table]:
    """The partials of the views over events: each step is taken once, whatever number of views it serves."""
    found: list[pa.Table] = []
    for step in plan.steps:
        source = events if step.source is None else found[step.source].select(step.columns).rename_columns(step.names)
        found.append(_packed(step, _run(step, source)))
    return [_partial(view, found) for view in plan.views]


def _run(step: Step, source: pa.Table) -> pa.Table:
    """One step over an Arrow table."""
    if step.calendar is not None:
        moments = source.column("_time" if step.source is None else "pane").cast(pa.int64()).to_numpy()
        source = source.append_column("_pane", pa.array(step.calendar.starts_of(moments)))
    opened = connection()
    opened.register("source", source)
    try:
        return opened.sql(step.sql).to_arrow_table()
    finally:
        opened.unregister("source")


def _packed(step: Step, grouped: pa.Table) -> pa.Table:
    """What SQL gathered of each group, packed."""
    for name, state in step.packed:
        lists = grouped.column(name).combine_chunks()
        settled = state.settle(lists, regrouped=step.source is not None)
        grouped = grouped.set_column(grouped.schema.get_field_index(name), name, settled)
    return grouped


def _partial(view: Projection, found: list[pa.Table]) -> pa.Table:
    """One view's columns out of the steps that serve its levels."""
    names = [name for name in view.schema.names if name != "level"]
    levels = []
    for level, part in enumerate(view.levels):
        chosen = found[part.aggregation].select(part.columns).rename_columns(names)
        numbered = chosen.append_column("level", pa.repeat(pa.scalar(level, pa.int64()), chosen.num_rows))
        levels.append(numbered.select(view.schema.names).cast(view.schema))
    if view.clock is not None and levels[0].num_rows:
        levels.append(_ticked(view.clock, levels[0]))
    return pa.concat_tables(levels)


def _ticked(clock: Clock, finest: pa.Table) -> pa.Table:
    """The row that has the newest arrival of all."""
    place = clock.row.schema.get_field_index(clock.column)
    newest = pc.max(finest.column(clock.column))
    return clock.row.set_column(place, clock.row.schema.field(place), pa.array([newest.as_py()], pa.int64()))
