"""The shape of what decoding gives: events, and the records that could not be one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from tarnbeck.schema.ddl import arrow
from tarnbeck.schema.stream import Arrival, Stream
from tarnbeck.schema.types import Column

TIME = pa.timestamp("us", tz="UTC")
EXTRA = pa.map_(pa.string(), pa.string())

RECORDS = pa.schema(
    [
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", TIME),
        ("key", pa.binary()),
        ("value", pa.binary()),
    ]
)
"""Records of the log, as decoding takes them."""

POSITION = [("_partition", pa.int32()), ("_offset", pa.int64()), ("_index", pa.int32()), ("_received", TIME)]

REJECTS = pa.schema([*POSITION, ("key", pa.binary()), ("value", pa.binary()), ("reason", pa.string())])
"""Records that could not be decoded, whole, with the reason."""


@dataclass(frozen=True)
class Decoded:
    """All that a batch of records held, in the order of the records."""

    events: pa.Table
    rejects: pa.Table


def events_schema(stream: Stream) -> pa.Schema:
    """The columns of a stream's events: where they stand in the log, when they happened, what they say.

    `_extra` maps each field that is not declared (`a.b` for one inside a struct) to its JSON text; null when there is
    none.
    """
    declared = [(column.name, arrow(column.type)) for column in stream.schema]
    return pa.schema([*POSITION, ("_time", TIME), *declared, ("_extra", EXTRA)])


def required(stream: Stream) -> tuple[Column, ...]:
    """The declared columns as an event must have them: without its time, an event has no place in any view."""
    if isinstance(stream.time, Arrival):
        return stream.schema.columns
    named = stream.time.column
    return tuple(replace(column, nullable=False) if column.name == named else column for column in stream.schema)


def assemble(
    stream: Stream, records: pa.Table, time: pa.Array, columns: Sequence[pa.Array], extra: pa.Array
) -> pa.Table:
    """The events of records that each hold exactly one."""
    return pa.Table.from_arrays([*_position(records), time, *columns, extra], schema=events_schema(stream))


def refused(records: pa.Table, reasons: Sequence[str]) -> pa.Table:
    """The rejects of records that could not be decoded."""
    whole = [records.column("key"), records.column("value"), pa.array(reasons, pa.string())]
    return pa.Table.from_arrays([*_position(records), *whole], schema=REJECTS)


def _position(records: pa.Table) -> list[pa.ChunkedArray | pa.Array]:
    index = pa.repeat(pa.scalar(0, pa.int32()), records.num_rows)
    return [records.column("partition"), records.column("offset"), index, records.column("timestamp")]
