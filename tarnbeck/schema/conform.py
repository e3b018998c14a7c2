"""An Arrow table made fit for a stream before it is sent: declared columns in their declared types, or refused."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import types as of

from tarnbeck.errors import UsageError
from tarnbeck.schema import cells
from tarnbeck.schema.decode import decode_rows_of
from tarnbeck.schema.decoded import PLACES
from tarnbeck.schema.stream import Stream


def conform(stream: Stream, table: pa.Table) -> pa.Table:
    """The table as it is sent; what decoding would refuse is refused here, before that.

    Columns that the stream does not declare go along, if events can hold their types.
    """
    place = f"stream '{stream.name}'"
    try:
        table.validate(full=True)
    except pa.ArrowInvalid as error:
        raise UsageError(
            f"{place}: the table is not valid: {error}\n  expected a table that `validate(full=True)` passes"
        ) from None
    table = pa.Table.from_arrays([simple(column) for column in table.columns], names=table.column_names)
    for field in table.schema:
        if not cells.readable(field.type):
            raise UsageError(
                f"{place}: column '{field.name}': no event can hold {field.type}\n  cast it, or leave it out"
            )
    if not table.num_rows:
        return table
    parts = list(decode_rows_of(stream, _numbered(table.num_rows), table))
    for part in parts:
        if part.rejects.num_rows:
            row, reason = part.rejects.column("_index")[0].as_py(), part.rejects.column("reason")[0].as_py()
            raise UsageError(f"{place}: row {row + 1} can't be sent: {reason}\n  declared: {stream.schema}")
    events = pa.concat_tables([part.events for part in parts])
    declared = [name for name in table.column_names if name in stream.schema]
    others = [name for name in table.column_names if name not in stream.schema]
    return pa.Table.from_arrays(
        [*events.select(declared).columns, *table.select(others).columns], names=[*declared, *others]
    )


def _numbered(count: int) -> pa.Table:
    """Places whose index is the row; a stream that takes the time of arrival has none yet."""
    index = pa.array(range(count), pa.int32())
    nulls = [pa.repeat(pa.scalar(0, field.type), count) for field in PLACES if field.name not in ("key", "index")]
    return pa.Table.from_arrays([*nulls, pa.nulls(count, pa.binary()), index], schema=PLACES)


def simple(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Without views and dictionaries, which other libraries make and packs don't hold."""
    if isinstance(column.type, pa.BaseExtensionType):
        column = pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
    if of.is_string_view(column.type):
        return column.cast(pa.large_string())
    if of.is_binary_view(column.type):
        return column.cast(pa.large_binary())
    return column.cast(column.type.value_type) if of.is_dictionary(column.type) else column
