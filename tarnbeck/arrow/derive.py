"""The events of a derived stream out of those of its source, over Arrow tables, by DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import pyarrow as pa

from tarnbeck.algebra.aggregate import UNIX
from tarnbeck.arrow.partials import connection
from tarnbeck.expression import check
from tarnbeck.memory.changes import Lookup, joined, told
from tarnbeck.memory.partials import rows
from tarnbeck.plan.table import row_of
from tarnbeck.plan.view import View
from tarnbeck.schema.encode import encoded
from tarnbeck.schema.stream import Stream
from tarnbeck.schema.types import Type

RECEIVED = "_received"


@dataclass(frozen=True)
class Made:
    """One event to be written: its value as JSON, and when the event that it is made of was received."""

    value: bytes
    received: datetime


def derived(
    stream: Stream, source: Stream, events: pa.Table, table: View | None = None, lookup: Lookup | None = None
) -> Iterator[Made]:
    """The events of a stream that is derived from this source, in the order of the log.

    What is joined with a table, or tells its changes, needs that table and a lookup in it.
    """
    made = stream.derived
    assert made is not None  # noqa: S101 (asked for derived streams only)
    if table is not None and lookup is not None:
        if made.changes is not None:
            for change, row in told(table, list(rows(events)), lookup):
                yield Made(encoded(stream, row), UNIX + timedelta(microseconds=change.received))
            return
        if made.join is not None:
            events = joined(made.join, table, source, events, lookup)
    opened = connection()
    opened.register("source", events)
    try:
        found = opened.sql(_sql(stream, source, table)).to_arrow_table()
    finally:
        opened.unregister("source")
    for row in rows(found):
        received = row.pop(RECEIVED)
        yield Made(encoded(stream, row), received)


def _sql(stream: Stream, source: Stream, table: View | None) -> str:
    made = stream.derived
    assert made is not None  # noqa: S101 (asked for derived streams only)
    columns: dict[str, Type] = {column.name: column.type for column in source.schema}
    if table is not None:
        columns[table.name] = row_of(table)
    place, owner = f"stream '{stream.name}'", f"stream '{source.name}'"
    chosen = [(name, check(text, columns, place=place, owner=owner).duckdb()) for name, text in made.select]
    chosen = chosen or [(name, _quoted(name)) for name in columns]
    named = [f"{text} AS {_quoted(name)}" for name, text in chosen]
    tests = [] if made.where is None else [f"({check(made.where, columns, place=place, owner=owner).duckdb()})"]
    if made.late is not None:
        tests.append(f"epoch_us({RECEIVED}) - epoch_us(_time) > {made.late}")
    where = f" WHERE {' AND '.join(tests)}" if tests else ""
    return f"SELECT {', '.join(named)}, {RECEIVED} FROM source{where}"  # noqa: S608 (made of checked expressions only)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
