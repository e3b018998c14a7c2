"""Decoding a whole batch at once: gives its events only when there is no doubt about any of them.

pyarrow's JSON reader does the work. Left alone it would crash on some texts and give wrong values for others, so
everything here that looks like pedantry keeps such a text away from it; tests/laws/test_decode.py holds it to the
row-wise reader.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from tarnbeck.schema.decoded import EXTRA, assemble, required
from tarnbeck.schema.settle import Doubt, event_time, local_timestamps, settle
from tarnbeck.schema.stream import FromColumn, Stream
from tarnbeck.schema.strict import LARGEST
from tarnbeck.schema.types import (
    BINARY,
    BOOL,
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    Array,
    Column,
    Decimal,
    Map,
    Scalar,
    Struct,
    Type,
)

WIRE: dict[Scalar, pa.DataType] = {
    BOOL: pa.bool_(),
    INT: pa.int32(),
    LONG: pa.int64(),
    DOUBLE: pa.float64(),
    STRING: pa.string(),
    TIMESTAMP: pa.string(),
    DATE: pa.string(),
    BINARY: pa.string(),
}
"""What pyarrow's JSON reader is asked for: it takes times without a zone, dates as numbers, and base64 as it is."""

RISKY_DECIMAL = (
    r"[:,\[][ \t\r\n]*\"?[+-]?[0-9]*"
    r"(?:\.?[0-9]*[eE]-0*(?:[2-9][0-9]|[1-9][0-9]{2,})[0-9]*[\" \t\r\n,}\]]|\.[0-9]{19,}[eE]|\.[0-9]{39})"
    r"|\\u00(?:3[0-9]|[46]5|2[bBdDeE])"
)
"""A number with more than 38 decimal places, or text that could hide one by escapes.

pyarrow looks a decimal's scale up in a table of 39 powers of ten without a check of the bounds: such a number makes it
read foreign memory or crash.
"""

WHITESPACE = " \t\r\n"


@dataclass(frozen=True)
class Plan:
    """What is known of a stream before any record is seen."""

    columns: tuple[Column, ...]
    options: pj.ParseOptions
    has_decimals: bool


@functools.lru_cache(maxsize=64)
def plan(stream: Stream) -> Plan | None:
    """How to decode a stream's batches at once, or None when its types rule that out (pyarrow reads no maps)."""
    types = [inner for column in stream.schema for inner in _all_types(column.type)]
    if any(isinstance(found, Map) for found in types):
        return None
    wire = pa.schema([pa.field(column.name, _wire(column.type)) for column in stream.schema])
    options = pj.ParseOptions(explicit_schema=wire, unexpected_field_behavior="error")
    return Plan(required(stream), options, any(isinstance(found, Decimal) for found in types))


def decode_batch(stream: Stream, entries: pa.Table) -> pa.Table | None:
    """The events of entries that are all good, or None when at least one may not be."""
    known = plan(stream)
    if known is None:
        return None
    try:
        lines = _lines(entries.column("value").combine_chunks())
        if known.has_decimals:
            _refuse_risky_decimals(lines)
        found = _read(lines, known.options)
        if found.num_rows != entries.num_rows:
            return None
        columns = [_column(found.column(column.name).combine_chunks(), column, stream) for column in known.columns]
        time = event_time(stream, entries, columns)
    except (Doubt, pa.ArrowInvalid):
        return None
    return assemble(stream, entries, time, columns, pa.nulls(entries.num_rows, EXTRA))


def _lines(values: pa.Array) -> pa.Buffer:
    """All values in one buffer, each on a line of its own.

    Each must open with a brace and close with one. pyarrow crashes on a text that opens with null, and this way no
    value can run on into the next: where two meet, a line that is not complete is an error.
    """
    if values.null_count or not len(values):
        raise Doubt
    texts = values.cast(pa.string())
    if pc.max(pc.binary_length(values)).as_py() > LARGEST:
        raise Doubt
    if not _braced(texts):
        texts = pc.ascii_trim(texts, characters=WHITESPACE)
        if not _braced(texts):
            raise Doubt
    joined = pc.binary_join_element_wise(texts, "", "\n")
    offsets = np.frombuffer(joined.buffers()[1], np.int32)
    return joined.buffers()[2].slice(0, int(offsets[joined.offset + len(joined)]))


def _braced(texts: pa.Array) -> bool:
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]
    starts, ends = offsets[:-1], offsets[1:]
    if np.any(ends - starts < 2):
        return False
    data = np.frombuffer(texts.buffers()[2], np.uint8)
    return bool(np.all(data[starts] == ord("{")) and np.all(data[ends - 1] == ord("}")))


def _refuse_risky_decimals(lines: pa.Buffer) -> None:
    whole = pa.StringArray.from_buffers(1, pa.py_buffer(np.array([0, lines.size], np.int32)), lines)
    if pc.match_substring_regex(whole, RISKY_DECIMAL)[0].as_py():
        raise Doubt


def _read(lines: pa.Buffer, options: pj.ParseOptions) -> pa.Table:
    # One block, because the order of a null and an object decides whether pyarrow survives; one thread, because Spark
    # already runs one task per core.
    whole = pj.ReadOptions(use_threads=False, block_size=lines.size + 1)
    return pj.read_json(pa.BufferReader(lines), read_options=whole, parse_options=options)


def _column(found: pa.Array, column: Column, stream: Stream) -> pa.Array:
    if found.null_count and not column.nullable:
        raise Doubt
    if isinstance(stream.time, FromColumn) and stream.time.zone is not None and stream.time.column == column.name:
        return local_timestamps(found, ZoneInfo(stream.time.zone))
    return settle(found, column.type)


def _all_types(column_type: Type) -> list[Type]:
    match column_type:
        case Struct(columns):
            inner = [found for column in columns for found in _all_types(column.type)]
        case Array(element) | Map(element):
            inner = _all_types(element)
        case _:
            inner = []
    return [column_type, *inner]


def _wire(column_type: Type) -> pa.DataType:
    match column_type:
        case Scalar():
            return WIRE[column_type]
        case Decimal(precision, scale):
            # pyarrow lets a product of value and power of ten wrap around in 128 bits; in 256 it always fits.
            return pa.decimal128(precision, scale) if precision + scale <= 38 else pa.decimal256(precision, scale)
        case Struct(columns):
            return pa.struct([pa.field(column.name, _wire(column.type)) for column in columns])
        case Array(element):
            return pa.list_(_wire(element))
    raise TypeError(f"pyarrow reads no {column_type} from JSON")
