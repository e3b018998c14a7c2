"""How a stream may grow: columns that may be null are added, types get wider; what was read before stays as it was."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from tarnbeck.cut import Cut
from tarnbeck.schema.decoded import Decoded, events_schema
from tarnbeck.schema.stream import Stream
from tarnbeck.schema.types import DOUBLE, INT, LONG, Decimal, Schema, Type

DIGITS = {INT: 10, LONG: 19}
"""Digits of the largest integer."""


def problems(before: Schema, after: Schema) -> Iterator[str]:
    """Why a schema can't take the place of another, a line for each column that stands in the way."""
    for column in before:
        if column.name not in after:
            yield f"column '{column.name}' is gone: old events have it"
            continue
        now = after[column.name]
        if not wider(column.type, now.type):
            yield f"column '{column.name}': {column.type} can't become {now.type}: old values might not fit"
        if column.nullable and not now.nullable:
            yield f"column '{column.name}' can't become not null: old events may lack it"
    for column in after:
        if column.name not in before and not column.nullable:
            yield f"column '{column.name}' is new and not null: old events lack it"


def wider(old: Type, new: Type) -> bool:
    """Whether every value of the one type is a value of the other, exactly.

    >>> wider(INT, LONG), wider(LONG, INT), wider(Decimal(10, 2), Decimal(18, 2)), wider(LONG, DOUBLE)
    (True, False, True, False)
    """
    if old == new:
        return True
    if old in DIGITS and isinstance(new, Decimal):
        return new.precision - new.scale >= DIGITS[old]
    if isinstance(old, Decimal) and isinstance(new, Decimal):
        return new.scale >= old.scale and new.precision - new.scale >= old.precision - old.scale
    return (old, new) in ((INT, LONG), (INT, DOUBLE))


def below(records: pa.Table, cut: Cut) -> pa.Array:
    """Which records stand below a cut."""
    found = pa.repeat(pa.scalar(False), records.num_rows)
    for partition, offset in cut:
        here = pc.equal(records.column("partition"), partition)
        found = pc.or_(found, pc.and_(here, pc.less(records.column("offset"), offset)))
    return found


def at(stream: Stream, partition: int, offset: int) -> Stream:
    """The stream as it was when the record at this place came."""
    for former in stream.former:
        if offset < former.until[partition]:
            return replace(stream, schema=former.schema, former=())
    return stream


def grown(found: Decoded, stream: Stream) -> Decoded:
    """Events of a former form with the columns of today: those that did not exist are null."""
    schema, events = events_schema(stream), found.events
    columns = [
        events.column(field.name).cast(field.type) if field.name in events.schema.names
        else pa.nulls(events.num_rows, field.type)
        for field in schema
    ]  # fmt: skip
    return Decoded(pa.Table.from_arrays(columns, schema=schema), found.rejects)
