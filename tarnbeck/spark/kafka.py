"""The log as Spark sees it: spans read at rest, topics read live, and the offsets that a micro-batch planned."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from tarnbeck.cut import Span
from tarnbeck.log.settings import LogSettings
from tarnbeck.schema.decode import decode
from tarnbeck.schema.packs import HEADER
from tarnbeck.schema.stream import Stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

TUNED = {
    # Measured: together 1.7 times the rate of the defaults.
    "kafka.max.poll.records": "5000",
    "kafka.max.partition.fetch.bytes": "16777216",
    "kafka.fetch.max.bytes": "67108864",
    "kafka.isolation.level": "read_committed",
    "failOnDataLoss": "true",
    "includeHeaders": "true",
}
COLUMNS = (
    "partition",
    "offset",
    "timestamp",
    "key",
    "value",
    # Of several headers with one name, the last one counts, as everywhere in Kafka.
    f"try_element_at(filter(headers, h -> h.key = '{HEADER}'), -1).value AS content_type",
)
"""What decoding takes of a record."""

Starts = Mapping[str, Mapping[int, int]]
"""Topic name -> partition -> offset, every partition listed."""


def live(spark: SparkSession, log: LogSettings, starts: Starts, *, most: int) -> DataFrame:
    """All records of the topics from the given offsets on, as an unbounded table."""
    reader = spark.readStream.format("kafka").options(**log.spark_options(), **TUNED)
    frame: DataFrame = (
        reader.option("subscribe", ",".join(starts))
        .option("startingOffsets", _offsets(starts))
        .option("maxOffsetsPerTrigger", most)
        .load()
    )
    return frame.selectExpr("topic", *COLUMNS)


def at_rest(spark: SparkSession, log: LogSettings, topic: str, span: Span, partitions: Iterable[int]) -> DataFrame:
    """The records of one span of one topic, without the topic's name."""
    listed = list(partitions)
    reader = spark.read.format("kafka").options(**log.spark_options(), **TUNED)
    frame: DataFrame = (
        reader.option("subscribe", topic)
        .option("startingOffsets", _offsets({topic: {p: span.start[p] for p in listed}}))
        .option("endingOffsets", _offsets({topic: {p: span.end[p] for p in listed}}))
        .load()
    )
    return frame.selectExpr(*COLUMNS)


def _offsets(starts: Starts) -> str:
    return json.dumps({topic: {str(p): o for p, o in offsets.items()} for topic, offsets in starts.items()})


def planned(checkpoint: Path, batch: int) -> dict[str, dict[int, int]]:
    """The end of micro-batch `batch` as Spark wrote it down before running it: never derived from the rows seen.

    Markers and aborted records take offsets without giving rows, so rows alone would tell a lower end.
    """
    version, _, *sources = (checkpoint / "offsets" / str(batch)).read_text().splitlines()
    if version != "v1" or len(sources) != 1:
        raise ValueError(f"expected a v1 offset log with one source, found {version!r} with {len(sources)}")
    found = json.loads(sources[0])
    return {topic: {int(p): int(o) for p, o in offsets.items()} for topic, offsets in found.items()}


def decoded(
    records: DataFrame,
    stream: Stream,
    schema: StructType,
    rejected: Counter | None = None,
    weighed: Counter | None = None,
) -> DataFrame:
    """The events of records; on the side, `rejected` counts what is left out, `weighed` the bytes of the records."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found = decode(stream, pa.Table.from_batches([batch]))
            if rejected is not None and found.rejects.num_rows:
                rejected.add(found.rejects.num_rows)
            if weighed is not None:
                weighed.add(batch.nbytes)
            yield from found.events.to_batches()

    return records.mapInArrow(run, schema)


def rejects(records: DataFrame, stream: Stream, schema: StructType) -> DataFrame:
    """What can't be decoded, whole, with the reasons."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from decode(stream, pa.Table.from_batches([batch])).rejects.to_batches()

    return records.mapInArrow(run, schema)


class Counter:
    """A count that workers add to and the driver reads."""

    def __init__(self, spark: SparkSession) -> None:
        self._sum = spark.sparkContext.accumulator(0)

    def add(self, count: int) -> None:
        self._sum.add(count)

    @property
    def value(self) -> int:
        total: int = self._sum.value
        return total
