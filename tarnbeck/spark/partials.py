"""A view's plan as a Catalyst query: events in, partials of all its levels out."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812 (the name everybody knows)
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import LongType, StructType

from tarnbeck.arrow import partials as arrow
from tarnbeck.plan import query
from tarnbeck.plan.keep import clock_row
from tarnbeck.plan.query import Query
from tarnbeck.plan.view import View
from tarnbeck.window.pane import Pane

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CHUNK = 500_000
"""Events that the kernel aggregates at once."""


def partials(view: View, events: DataFrame) -> DataFrame:
    """Rows of the layout's columns; each level is grouped from the one below it.

    Catalyst gives one row per (keys, level, pane). A view with packed states is computed by the kernel, batch by
    batch: the same place may then come several times, and whoever reads the rows merges them, as they do anyway.
    """
    if view.packed:
        return events.mapInArrow(functools.partial(_packed, arrow.steps(view)), from_arrow_schema(view.layout.arrow))
    base = view.window.panes[0]
    if query.calendar(base):
        events = with_panes(events, base, "_time")
    finest = _run(query.partials(view, "spark"), events)
    levels = [finest]
    for level, pane in enumerate(view.window.panes[1:], start=1):
        below = with_panes(levels[-1], pane, "pane") if query.calendar(pane) else levels[-1]
        levels.append(_run(query.regroup(view, level, "spark"), below))
    columns = view.layout.arrow.names
    numbered = [frame.withColumn("level", F.lit(i).cast("bigint")).select(*columns) for i, frame in enumerate(levels)]
    if view.clock is not None:
        numbered.append(_clock(view, finest))
    return functools.reduce(lambda a, b: a.unionAll(b), numbered)


def _clock(view: View, finest: DataFrame) -> DataFrame:
    """The row that has the newest arrival of all."""
    column = f"s{view.clock}"
    newest = finest.agg(F.max(column).alias(column)).where(F.col(column).isNotNull())
    cells = zip(from_arrow_schema(view.layout.arrow), clock_row(view, None), strict=True)
    return newest.select(
        *(
            F.col(column) if field.name == column else F.lit(cell).cast(field.dataType).alias(field.name)
            for field, cell in cells
        )
    )


def _packed(steps: arrow.Steps, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for table in _chunks(batches):
        for partial in arrow.partials(steps, table):
            yield from partial.to_batches()


def _chunks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches put together: the fewer there are, the fewer rows there are to merge."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(each.num_rows for each in waiting) >= CHUNK:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


def _run(steps: Query, frame: DataFrame) -> DataFrame:
    if steps.where is not None:
        frame = frame.where(steps.where)
    chosen = frame.selectExpr(*(f"{sql} AS {name}" for name, sql in steps.select))
    calls = [F.expr(sql).alias(name) for name, sql in steps.aggregate]
    return chosen.groupBy(*steps.group).agg(*calls).selectExpr(*(f"{sql} AS {name}" for name, sql in steps.project))


def with_panes(frame: DataFrame, pane: Pane, column: str) -> DataFrame:
    """Adds the column `_pane`, a calendar's, by the same function that every other engine uses."""
    schema = StructType([*frame.schema.fields]).add("_pane", LongType())

    def add(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            moments = pc.cast(batch.column(column), pa.int64()).to_numpy(zero_copy_only=False)
            yield batch.append_column("_pane", pa.array(pane.starts_of(moments)))

    return frame.mapInArrow(add, schema)
