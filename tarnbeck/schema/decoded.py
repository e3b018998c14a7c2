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
        ("content_type", pa.binary()),
    ]
)
"""Records of the log, as decoding takes them; the content type is that of a header, null without one."""

PLACES = pa.schema(
    [*(field for field in RECORDS if field.name not in ("value", "content_type")), ("index", pa.int32())]
)
"""Where each event stands: in which record, and where inside of it."""
ENTRIES = PLACES.append(pa.field("value", pa.binary()))
"""Events as JSON texts: one of a plain record, or many of a packed one."""

POSITION = [("_partition", pa.int32()), ("_offset", pa.int64()), ("_index", pa.int32()), ("_received", TIME)]

REJECTS = pa.schema([*POSITION, ("key", pa.binary()), ("value", pa.binary()), ("reason", pa.string())])
"""Events that could not be decoded, whole, with the reason; `_index` is null for a pack that can't be taken apart."""


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
    stream: Stream, places: pa.Table, time: pa.Array, columns: Sequence[pa.Array], extra: pa.Array
) -> pa.Table:
    """The events at these places."""
    return pa.Table.from_arrays([*_position(places), time, *columns, extra], schema=events_schema(stream))


def refused(entries: pa.Table, reasons: Sequence[str]) -> pa.Table:
    """The rejects of what could not be decoded."""
    whole = [entries.column("key"), entries.column("value"), pa.array(reasons, pa.string())]
    return pa.Table.from_arrays([*_position(entries), *whole], schema=REJECTS)


def _position(places: pa.Table) -> list[pa.ChunkedArray]:
    return [places.column(name) for name in ("partition", "offset", "index", "timestamp")]
