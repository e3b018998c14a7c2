"""Decoding an Arrow table at once: gives its events only when there is no doubt that each means what its JSON would.

What a cell means is told by tarnbeck/schema/cells.py; tests/laws/test_packs.py holds this file to it.
"""

from __future__ import annotations

from collections.abc import Callable
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as of

from tarnbeck.schema import cells
from tarnbeck.schema.ddl import arrow
from tarnbeck.schema.decoded import EXTRA, TIME, assemble, required
from tarnbeck.schema.literal import EARLIEST, LATEST
from tarnbeck.schema.settle import (
    Doubt,
    event_time,
    finite,
    local_timestamps,
    rescaled,
    settle,
    within,
    without_zone,
)
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

MOST_WORDS = 64 << 20
"""Bytes that the words of a dictionary may take when they are written out."""
FIRST_DAY, LAST_DAY = EARLIEST // 86_400_000_000, LATEST // 86_400_000_000


def decode_table(stream: Stream, places: pa.Table, columns: pa.Table) -> pa.Table | None:
    """The events of rows that are all good, or None when at least one may not be."""
    names = columns.column_names
    if len(set(names)) != len(names) or not columns.num_rows:
        return None
    try:
        found = {name: columns.column(name).combine_chunks() for name in names}
        if sum(6 * len(name) + 6 + cells.longest(each) for name, each in found.items()) > LARGEST:
            return None
        declared = [_column(found.pop(column.name, None), column, stream, places) for column in required(stream)]
        time = event_time(stream, places, declared)
        extra = _extra(found, columns.num_rows)
    except (Doubt, pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return assemble(stream, places, time, declared, extra)


def _column(found: pa.Array | None, column: Column, stream: Stream, places: pa.Table) -> pa.Array:
    if found is None:
        found = pa.nulls(places.num_rows)
    if found.null_count and not column.nullable:
        raise Doubt
    if isinstance(stream.time, FromColumn) and stream.time.zone is not None and stream.time.column == column.name:
        return _local(found, ZoneInfo(stream.time.zone))
    return cast(found, column.type)


def _local(found: pa.Array, zone: ZoneInfo) -> pa.Array:
    if of.is_timestamp(found.type) and found.type.tz is None:
        return without_zone(found.cast(pa.timestamp("us")), zone)
    return local_timestamps(found, zone) if of.is_string(found.type) else _timestamp(found)


def cast(found: pa.Array, column_type: Type) -> pa.Array:
    """A column in its declared type, or Doubt."""
    if of.is_null(found.type):
        return pa.nulls(len(found), arrow(column_type))
    if of.is_dictionary(found.type):
        if cells.longest(found) * len(found) > MOST_WORDS:
            raise Doubt
        return cast(found.dictionary_decode(), column_type)
    match column_type:
        case Scalar():
            return SCALARS[column_type](found)
        case Decimal():
            return _decimal(found, column_type)
        case Struct():
            return _struct(found, column_type)
        case Array(element):
            return _list(found, element)
        case Map(value):
            return _map(found, value)
    raise Doubt


def _only(*fits: Callable[[pa.DataType], bool], to: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    """Takes columns of some types, without loss."""

    def take(found: pa.Array) -> pa.Array:
        if not any(each(found.type) for each in fits):
            raise Doubt
        return found.cast(to)

    return take


def _double(found: pa.Array) -> pa.Array:
    if not of.is_floating(found.type) and not of.is_integer(found.type):
        raise Doubt
    return finite(found.cast(pa.float64()))


def _timestamp(found: pa.Array) -> pa.Array:
    if of.is_string(found.type):
        return settle(found, TIMESTAMP)
    if not of.is_timestamp(found.type) or found.type.tz is None:
        raise Doubt
    return within(found.cast(pa.timestamp("us", found.type.tz)).cast(TIME), EARLIEST, LATEST)


def _date(found: pa.Array) -> pa.Array:
    if of.is_string(found.type):
        return settle(found, DATE)
    if not of.is_date(found.type):
        raise Doubt
    days = found.cast(pa.date32())
    bounds = pc.min_max(days.cast(pa.int32()))
    low, high = bounds["min"].as_py(), bounds["max"].as_py()
    if low is not None and (low < FIRST_DAY or high > LAST_DAY):
        raise Doubt
    return days


def _binary(found: pa.Array) -> pa.Array:
    if of.is_string(found.type):
        return settle(found, BINARY)
    if not cells.is_binary(found.type):
        raise Doubt
    return found.cast(pa.binary())


def _decimal(found: pa.Array, column_type: Decimal) -> pa.Array:
    if of.is_integer(found.type):
        found = found.cast(pa.decimal128(20, 0))
    if not of.is_decimal(found.type):
        raise Doubt
    # A product of value and power of ten could leave 128 bits; in 256 it always fits.
    return rescaled(found if found.type == arrow(column_type) else found.cast(_wide(found.type)), column_type)


def _wide(kind: pa.DataType) -> pa.DataType:
    return pa.decimal256(76, kind.scale) if kind.precision <= 38 else kind


def _struct(found: pa.Array, column_type: Struct) -> pa.Array:
    if not of.is_struct(found.type):
        raise Doubt
    names = [field.name for field in found.type]
    if len(set(names)) != len(names) or not set(names) <= {column.name for column in column_type.columns}:
        raise Doubt
    found = _compact(found)
    # flatten() gives nulls to the members of a null struct, so any further null is a member's own.
    given = dict(zip(names, found.flatten(), strict=True))
    members = []
    for column in column_type.columns:
        member = given.get(column.name, pa.nulls(len(found)))
        if not column.nullable and member.null_count != found.null_count:
            raise Doubt
        members.append(cast(member, column.type))
    mask = found.is_null() if found.null_count else None
    return pa.StructArray.from_arrays(members, fields=list(arrow(column_type)), mask=mask)


def _list(found: pa.Array, element: Type) -> pa.Array:
    if not cells.is_list(found.type):
        raise Doubt
    found = _compact(found.cast(pa.list_(found.type.value_type)))
    mask = found.is_null() if found.null_count else None
    values = cast(found.values, element)
    return pa.ListArray.from_arrays(found.offsets, values, type=arrow(Array(element)), mask=mask)


def _map(found: pa.Array, value: Type) -> pa.Array:
    if not of.is_map(found.type):
        raise Doubt
    found = _compact(found)
    keys = cast(found.keys, STRING)
    parents = np.repeat(np.arange(len(found)), np.diff(found.offsets.to_numpy()))
    if pa.table([pa.array(parents), keys], ["map", "key"]).group_by(["map", "key"]).aggregate([]).num_rows != len(keys):
        raise Doubt
    items, mask = cast(found.items, value), found.is_null() if found.null_count else None
    return pa.MapArray.from_arrays(found.offsets, keys, items, type=arrow(Map(value)), mask=mask)


def _compact(found: pa.Array) -> pa.Array:
    """Without an offset, and without values below nulls, which pyarrow's constructors don't take."""
    return found.take(pa.array(np.arange(len(found))))


def _extra(unknown: dict[str, pa.Array], count: int) -> pa.Array:
    """The columns that are not declared: name to JSON text, by name, without nulls."""
    there = {name: each for name, each in sorted(unknown.items()) if each.null_count < count}
    if not there:
        return pa.nulls(count, EXTRA)
    columns = [(name, _texts(each)) for name, each in there.items()]
    rows = zip(*([(name, text) for text in found] for name, found in columns), strict=True)
    pairs = [[pair for pair in row if pair[1] is not None] or None for row in rows]
    return pa.array(pairs, EXTRA)


def _texts(column: pa.Array) -> cells.Texts:
    # Members of a struct have paths of their own, which might meet; a number that is none is refused with its event.
    if any(fits(column.type) for fits in (of.is_nested, of.is_dictionary)):
        raise Doubt
    if of.is_floating(column.type):
        finite(column.cast(pa.float64()))
    return cells.texts(column)


SCALARS: dict[Scalar, Callable[[pa.Array], pa.Array]] = {
    BOOL: _only(of.is_boolean, to=pa.bool_()),
    INT: _only(of.is_integer, to=pa.int32()),
    LONG: _only(of.is_integer, to=pa.int64()),
    DOUBLE: _double,
    STRING: _only(cells.is_string, to=pa.string()),
    TIMESTAMP: _timestamp,
    DATE: _date,
    BINARY: _binary,
}
