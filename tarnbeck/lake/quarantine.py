"""Looking into the quarantine: what could not be decoded, why, and the bytes as they came."""

from __future__ import annotations

import datetime
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.functions import expr

from tarnbeck.cut import partition_name
from tarnbeck.errors import UsageError
from tarnbeck.lake import tables as lake
from tarnbeck.lake.tables import Tables
from tarnbeck.store.state import StreamState

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

Place = tuple[int, int, int | None]
"""Partition, offset and index; without an index, all that the record brought here."""

MOST = 10_000
"""Events that are looked at or retried at once."""


@dataclass(frozen=True)
class Rejected:
    """One event in quarantine, whole; or a pack that could not be taken apart, whose index is None."""

    partition: int
    offset: int
    index: int | None
    received: datetime.datetime
    key: bytes | None
    value: bytes | None
    reason: str

    def place(self) -> dict[str, Any]:
        received = self.received.replace(tzinfo=datetime.UTC).isoformat()
        return {"partition": self.partition, "offset": self.offset, "index": self.index, "received": received}


def newest(spark: SparkSession, tables: Tables, state: StreamState, most: int) -> list[Rejected]:
    """The events that came last."""
    return _collect(_all(spark, tables, state).orderBy("_received", "_partition", "_offset", ascending=False), most)


def one(spark: SparkSession, tables: Tables, state: StreamState, place: Place) -> Rejected:
    found = select(spark, tables, state, {place})
    if not found:
        raise UsageError(
            f"quarantine: nothing at {_told(place)} of stream '{state.name}'\n"
            f"  see: tarnbeck quarantine list {state.name}"
        )
    if len(found) > 1:
        partition, offset, _ = place
        raise UsageError(
            f"quarantine: {len(found)} events at {_told(place)} of stream '{state.name}'\n"
            f"  say which: {', '.join(f'{partition}:{offset}:{row.index}' for row in found[:10])}"
        )
    return found[0]


def _told(place: Place) -> str:
    partition, offset, index = place
    return f"partition {partition_name(partition)}, offset {offset}" + ("" if index is None else f", index {index}")


def select(spark: SparkSession, tables: Tables, state: StreamState, places: Collection[Place] | None) -> list[Rejected]:
    """The events at these places, or all, in the order of the log."""
    frame = _all(spark, tables, state)
    if places is not None:
        rows = sorted(places, key=lambda place: [-1 if each is None else each for each in place])
        chosen = spark.createDataFrame(rows, "p int, o bigint, i int")
        same = expr("_partition = p AND _offset = o AND _index <=> coalesce(i, _index)")
        frame = frame.join(chosen, same, "leftsemi")
    return _collect(frame.orderBy("_partition", "_offset", "_index"), MOST)


def _all(spark: SparkSession, tables: Tables, state: StreamState) -> DataFrame:
    lake.create(spark, tables)
    return lake.read_quarantine(spark, tables, state.origin.span_to(state.lake_cut))


def _collect(frame: DataFrame, most: int) -> list[Rejected]:
    return [_rejected(row) for row in frame.limit(most).collect()]


def _rejected(row: Row) -> Rejected:
    key, value = (None if row[name] is None else bytes(row[name]) for name in ("key", "value"))
    return Rejected(row["_partition"], row["_offset"], row["_index"], row["_received"], key, value, row["reason"])
