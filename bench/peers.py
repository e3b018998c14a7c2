"""What tarnbeck is measured against: the same work written by hand in plain PySpark, in the same session."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812 (the name everybody knows)

from bench.declared import SCHEMA
from tarnbeck.log.settings import LogSettings
from tarnbeck.spark.kafka import TUNED

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery


def _events(records: DataFrame, schema: str) -> DataFrame:
    parsed = F.from_json(F.col("value").cast("string"), schema).alias("event")
    return records.select("partition", "offset", "timestamp", parsed).select(
        "partition", "offset", "timestamp", "event.*"
    )


def to_parquet(spark: SparkSession, log: LogSettings, topic: str, path: Path) -> float:
    """The whole topic, `from_json`, Parquet: seconds."""
    began = time.perf_counter()
    records = spark.read.format("kafka").options(**log.spark_options(), **TUNED).option("subscribe", topic).load()
    _events(records, SCHEMA).write.parquet(str(path))
    return time.perf_counter() - began


def minutes(spark: SparkSession, table: str) -> tuple[float, pa.Table]:
    """One-minute windows per key on the lake's own Delta table, as Arrow in the driver: seconds and the result."""
    began = time.perf_counter()
    events = spark.read.format("delta").load(table)
    minute = F.floor(F.unix_micros("time") / 60_000_000).alias("minute")
    value = F.col("value")
    grouped = events.groupBy("key", minute).agg(F.count("*"), F.sum(value), F.min(value), F.max(value))
    found = grouped.toArrow()
    return time.perf_counter() - began, found


@dataclass(frozen=True)
class Settings:
    """How a streaming query reads a topic."""

    log: LogSettings
    topic: str
    checkpoint: Path
    trigger: str
    most: int


def windows(spark: SparkSession, settings: Settings, schema: str, grouped: Callable[[DataFrame], DataFrame]) -> float:
    """The backlog through Structured Streaming's own `window()`, from the query's start to its last batch's end.

    The rows of each batch go to Spark's noop sink: a foreachBatch that did not touch them would not run the query.
    """
    records = (
        spark.readStream.format("kafka")
        .options(**settings.log.spark_options(), **TUNED)
        .option("subscribe", settings.topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", settings.most)
        .load()
    )
    began = time.time()
    query = (
        grouped(_events(records, schema))
        .writeStream.outputMode("update")
        .foreachBatch(_dropped)
        .option("checkpointLocation", str(settings.checkpoint))
        .trigger(processingTime=settings.trigger)
        .start()
    )
    try:
        query.processAllAvailable()
        return max(_ended(progress) for progress in _batches(query)) - began
    finally:
        query.stop()


def _dropped(batch: DataFrame, number: int) -> None:
    batch.write.format("noop").mode("append").save()


def _untouched(batch: DataFrame, number: int) -> None:
    """Nothing at all: not even the records are read."""


def empty(spark: SparkSession, log: LogSettings, topic: str, checkpoint: Path, trigger: str) -> StreamingQuery:
    """A running query whose foreachBatch is empty."""
    return _plain(spark, log, topic, checkpoint, trigger, _untouched)


def reading(spark: SparkSession, log: LogSettings, topic: str, checkpoint: Path, trigger: str) -> StreamingQuery:
    """A running query that reads its records and drops them."""
    return _plain(spark, log, topic, checkpoint, trigger, _dropped)


def _plain(
    spark: SparkSession, log: LogSettings, topic: str, checkpoint: Path, trigger: str, batch: Any
) -> StreamingQuery:
    records = spark.readStream.format("kafka").options(**log.spark_options(), **TUNED).option("subscribe", topic).load()
    writer = records.writeStream.foreachBatch(batch).option("checkpointLocation", str(checkpoint))
    return writer.trigger(processingTime=trigger).start()


def triggers(query: StreamingQuery) -> list[float]:
    """Milliseconds that each trigger with new events took."""
    return [float(progress["durationMs"]["triggerExecution"]) for progress in _batches(query)]


def _batches(query: StreamingQuery) -> list[Any]:
    """The progress of triggers that ran a batch; the others only looked for new offsets."""
    return [progress for progress in query.recentProgress if "addBatch" in progress["durationMs"]]


def _ended(progress: Any) -> float:
    began = datetime.datetime.fromisoformat(progress["timestamp"]).timestamp()
    return float(began + progress["durationMs"]["triggerExecution"] / 1000)
