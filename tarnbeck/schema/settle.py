"""Columns as pyarrow's JSON reader gives them, checked and turned into their declared types, all values at once."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tarnbeck.schema.ddl import arrow
from tarnbeck.schema.decoded import TIME
from tarnbeck.schema.literal import DAY, EARLIEST, LATEST, OF_EVENTS, PER_UNIT, binary, epoch_micros, offset_of
from tarnbeck.schema.stream import Arrival, Epoch, FromColumn, Stream, Unit
from tarnbeck.schema.strict import Reject
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
    Decimal,
    Scalar,
    Struct,
    Type,
)

QUARTER = 900_000_000
"""A quarter of an hour: the grid on which a zone's offset is asked for."""
FIRST_DATE = dt.date(1, 1, 1)
FIRST_ZONED = EARLIEST + DAY
"""Before it a text may lie in the year 0 of another zone: left to the row-wise reader."""


class Doubt(Exception):
    """A batch that can't be decoded at once with certainty."""


def settle(found: pa.Array, column_type: Type) -> pa.Array:
    """A column in its declared type, or Doubt."""
    match column_type:
        case Scalar():
            return SCALARS[column_type](found)
        case Decimal():
            return rescaled(found, column_type)
        case Struct():
            return _struct(found, column_type)
        case Array(element):
            values = settle(found.values, element)
            mask = found.is_null() if found.null_count else None
            return pa.ListArray.from_arrays(found.offsets, values, type=arrow(column_type), mask=mask)
    raise Doubt


def local_timestamps(found: pa.Array, zone: ZoneInfo) -> pa.Array:
    """Texts of times of which all have a zone, or none has and all are local in `zone`."""
    try:
        return _timestamp(found)
    except pa.ArrowInvalid:
        shortest = pc.min(pc.binary_length(found)).as_py()
        if found.null_count or shortest < len("2026-01-01T00"):
            raise Doubt from None
        return without_zone(found.cast(pa.timestamp("us")), zone)


def event_time(stream: Stream, places: pa.Table, columns: list[pa.Array]) -> pa.Array:
    """When each event happened."""
    return within(_moments(stream, places, columns), OF_EVENTS.first, OF_EVENTS.last)


def _moments(stream: Stream, places: pa.Table, columns: list[pa.Array]) -> pa.Array:
    match stream.time:
        case FromColumn(column):
            return columns[stream.schema.names.index(column)]
        case Epoch(column, unit):
            return _epoch(columns[stream.schema.names.index(column)], unit, column)
        case Arrival():
            received = places.column("timestamp").combine_chunks()
            if received.null_count:
                raise Doubt
            return received


def _as_it_is(found: pa.Array) -> pa.Array:
    return found


def within(times: pa.Array, first: int, last: int) -> pa.Array:
    bounds = pc.min_max(times.cast(pa.int64()))
    low, high = bounds["min"].as_py(), bounds["max"].as_py()
    if low is not None and (low < first or high > last):
        raise Doubt
    return times


def _timestamp(found: pa.Array) -> pa.Array:
    return within(found.cast(TIME), FIRST_ZONED, LATEST)


def without_zone(found: pa.Array, zone: ZoneInfo) -> pa.Array:
    """Local times, none of them null, as times of UTC."""
    local = found.cast(pa.int64()).to_numpy()
    if local.min() < FIRST_ZONED or local.max() > LATEST - DAY:
        raise Doubt
    return pa.array(local - _offsets(local, zone), TIME)


def _offsets(local: npt.NDArray[np.int64], zone: ZoneInfo) -> npt.NDArray[np.int64]:
    """How far the zone is ahead of UTC at each local time; Python's zone data is the only one asked."""
    quarters, which = np.unique(local // QUARTER, return_inverse=True)
    at_start = [_offset_at(int(quarter) * QUARTER, zone) for quarter in quarters]
    at_end = [_offset_at(int(quarter + 1) * QUARTER - 1_000_000, zone) for quarter in quarters]
    if at_start != at_end:
        raise Doubt
    return np.array(at_start, np.int64)[which]


def _offset_at(micros: int, zone: ZoneInfo) -> int:
    return offset_of(dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=micros), zone)


def _date(found: pa.Array) -> pa.Array:
    days = found.cast(pa.date32())
    first = pc.min(days.cast(pa.int32())).as_py()
    if first is not None and first < (FIRST_DATE - dt.date(1970, 1, 1)).days:
        raise Doubt
    return days


def finite(found: pa.Array) -> pa.Array:
    if not pc.all(pc.is_finite(found)).as_py() and len(found) > found.null_count:
        raise Doubt
    return pc.add(found, 0.0)


def _binary(found: pa.Array) -> pa.Array:
    try:
        return pa.array([None if text is None else binary(text, "") for text in found.to_pylist()], pa.binary())
    except Reject as reject:
        raise Doubt from reject


def rescaled(found: pa.Array, column_type: Decimal) -> pa.Array:
    bounds = pc.min_max(found)
    limit = 10 ** (column_type.precision - column_type.scale)
    low, high = bounds["min"].as_py(), bounds["max"].as_py()
    if low is not None and (low <= -limit or high >= limit):
        raise Doubt
    return found.cast(arrow(column_type))


def _struct(found: pa.Array, column_type: Struct) -> pa.Array:
    members = []
    # flatten() gives nulls to the members of a null struct, so any further null is a member's own.
    for column, member in zip(column_type.columns, found.flatten(), strict=True):
        if not column.nullable and member.null_count != found.null_count:
            raise Doubt
        members.append(settle(member, column.type))
    mask = found.is_null() if found.null_count else None
    return pa.StructArray.from_arrays(members, fields=list(arrow(column_type)), mask=mask)


def _epoch(found: pa.Array, unit: Unit, column: str) -> pa.Array:
    numerator, denominator = PER_UNIT[unit]
    if pa.types.is_decimal(found.type):
        try:
            return pa.array([epoch_micros(value, unit, column) for value in found.to_pylist()], TIME)
        except Reject as reject:
            raise Doubt from reject
    numbers = found.to_numpy()
    if pa.types.is_floating(found.type):
        scaled = np.rint(numbers * numerator / denominator)
        if not np.all(np.abs(scaled) < 1e18):
            raise Doubt
        return pa.array(scaled.astype(np.int64), TIME)
    # Compared before it is multiplied, for the product may not fit in 64 bits.
    if numbers.min() < EARLIEST * denominator // numerator or numbers.max() > LATEST * denominator // numerator:
        raise Doubt
    return pa.array(numbers.astype(np.int64) * numerator // denominator, TIME)


SCALARS: dict[Scalar, Callable[[pa.Array], pa.Array]] = {
    BOOL: _as_it_is,
    INT: _as_it_is,
    LONG: _as_it_is,
    DOUBLE: finite,
    STRING: _as_it_is,
    TIMESTAMP: _timestamp,
    DATE: _date,
    BINARY: _binary,
}
