"""The lake writer: spans of the log become Delta commits, each exactly once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tarnbeck.cut import Span
from tarnbeck.lake.tables import Tables
from tarnbeck.lake.turn import turn
from tarnbeck.log.settings import LogSettings
from tarnbeck.spark import kafka

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LOG, FILES = "tarnbeck-lake", "tarnbeck-history"
"""Who writes: Delta skips the transaction versions that it has seen of each, and both count for themselves."""


@dataclass(frozen=True)
class Written:
    """What one span brought into quarantine, and the bytes of its records.

    Both are 0 when an earlier attempt had written the events already.
    """

    quarantined: int
    bytes: int


def write(spark: SparkSession, log: LogSettings, tables: Tables, span: Span, intent: int, *, redo: bool) -> Written:
    """Writes a span of the log under the id of its intent; doing it again, or by two writers, changes nothing."""
    partitions = range(tables.stream.partitions)
    records = kafka.at_rest(spark, log, tables.stream.topic, span, partitions)
    rejected, weighed = kafka.Counter(spark), kafka.Counter(spark)
    events = kafka.decoded(records, tables.stream, tables.events_type, rejected, weighed)
    rejects = kafka.rejects(records, tables.stream, tables.quarantine_type)
    land(Landing(tables, span, LOG, intent), events, rejects, rejected, redo=redo)
    return Written(rejected.value, weighed.value)


@dataclass(frozen=True)
class Landing:
    """Where a span goes, who writes it, and under which number."""

    tables: Tables
    span: Span
    writer: str
    intent: int


def land(to: Landing, events: DataFrame, rejects: DataFrame, rejected: kafka.Counter, *, redo: bool) -> None:
    """Appends events, and rejects if there are any.

    The quarantine is looked for in a second pass only when the first one met something it could not decode, or when
    an earlier attempt may have died between the two tables.
    """
    _append(events, to, to.tables.events)
    if redo or rejected.value:
        _append(rejects, to, to.tables.quarantine)


def bar(spark: SparkSession, tables: Tables, span: Span, intent: int) -> None:
    """Spends the id of an intent that can't be written any more, so that no late writer can land it."""
    to = Landing(tables, span, LOG, intent)
    for path, schema in ((tables.events, tables.events_type), (tables.quarantine, tables.quarantine_type)):
        _append(spark.createDataFrame([], schema), to, path)


def _append(frame: DataFrame, to: Landing, path: str) -> None:
    # Delta skips a transaction version that it has seen: the same intent never lands twice.
    with turn(to.tables.folder):
        (
            frame.write.format("delta")
            .mode("append")
            .option("txnAppId", to.writer)
            .option("txnVersion", to.intent)
            .option("userMetadata", to.span.end.to_json())
            .save(path)
        )
