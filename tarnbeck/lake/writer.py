"""The lake writer: spans of the log become Delta commits, each exactly once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tarnbeck.cut import Span
from tarnbeck.lake.tables import Tables
from tarnbeck.log.settings import LogSettings
from tarnbeck.spark import kafka

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TRANSACTION = "tarnbeck-lake"


@dataclass(frozen=True)
class Written:
    """What one span brought into quarantine, and the bytes of its records.

    Both are 0 when an earlier attempt had written the events already.
    """

    quarantined: int
    bytes: int


def write(spark: SparkSession, log: LogSettings, tables: Tables, span: Span, intent: int, *, redo: bool) -> Written:
    """Writes a span under the id of its intent; doing it again, or by two writers at once, changes nothing.

    The quarantine is looked for in a second pass only when the first one met something it could not decode, or when
    an earlier attempt may have died between the two tables.
    """
    partitions = range(tables.stream.partitions)
    records = kafka.at_rest(spark, log, tables.stream.topic, span, partitions)
    rejected, weighed = kafka.Counter(spark), kafka.Counter(spark)
    events = kafka.decoded(records, tables.stream, tables.events_type, rejected, weighed)
    _append(events, tables.events, span, intent)
    if redo or rejected.value:
        _append(kafka.rejects(records, tables.stream, tables.quarantine_type), tables.quarantine, span, intent)
    return Written(rejected.value, weighed.value)


def bar(spark: SparkSession, tables: Tables, span: Span, intent: int) -> None:
    """Spends the id of an intent that can't be written any more, so that no late writer can land it."""
    for path, schema in ((tables.events, tables.events_type), (tables.quarantine, tables.quarantine_type)):
        _append(spark.createDataFrame([], schema), path, span, intent)


def _append(frame: DataFrame, path: str, span: Span, intent: int) -> None:
    # Delta skips a transaction version that it has seen: the same intent never lands twice.
    (
        frame.write.format("delta")
        .mode("append")
        .option("txnAppId", TRANSACTION)
        .option("txnVersion", intent)
        .option("userMetadata", span.end.to_json())
        .save(path)
    )
