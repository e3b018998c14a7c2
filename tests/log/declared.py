"""A stream for the tests of the log."""

from __future__ import annotations

from tarnbeck.schema.stream import FromColumn, Json, Stream
from tarnbeck.schema.types import BOOL, DOUBLE, INT, STRING, TIMESTAMP, Array, Column, Decimal, Schema

SCHEMA = Schema(
    (
        Column("time", TIMESTAMP),
        Column("currency", STRING),
        Column("price", Decimal(18, 2)),
        Column("volume", DOUBLE),
        Column("lots", INT),
        Column("real", BOOL),
        Column("tags", Array(STRING)),
    )
)


def stream(topic: str = "prices", *, partitions: int = 2, create: bool = True, key: str | None = "currency") -> Stream:
    return Stream("prices", SCHEMA, FromColumn("time"), key, topic, Json(), partitions, create)
