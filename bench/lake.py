"""Figure: the lake writer against a bare PySpark job that writes Parquet."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from bench import peers
from bench.declared import PARTITIONS, stream
from bench.figure import OURS, Figure, Target, race, rate, steps
from bench.place import Place
from tarnbeck.cut import Cut
from tarnbeck.lake import tables as lake
from tarnbeck.lake import writer
from tarnbeck.lake.tables import Tables
from tarnbeck.spark import kafka

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TARGET = Target(0.7, least=True)


def figures(place: Place) -> Iterator[Figure]:
    with place.spark("lake") as spark:
        yield measure(spark, place)


def measure(spark: SparkSession, place: Place) -> Figure:
    """The whole topic as one span into a fresh table, against `from_json` into fresh Parquet files."""
    span = Cut.of(place.end.topic, {}).span_to(place.end)

    def ours() -> float:
        with place.fresh("lake") as folder:
            tables = Tables(str(folder), stream(place.topic))
            lake.create(spark, tables)
            began = time.perf_counter()
            written = writer.write(spark, place.log, tables, span, 1, redo=False)
            took = time.perf_counter() - began
            assert written.quarantined == 0, f"{written.quarantined} events in quarantine"
            return took

    def peer() -> float:
        with place.fresh("parquet") as folder:
            return peers.to_parquet(spark, place.log, place.topic, folder / "events")

    best = race(place.repeats, {OURS: ours, "by hand": peer}, place.tell)
    mine, theirs = best[OURS], best["by hand"]
    return Figure(
        "lake",
        "topic to the lake (Delta, decoded strictly), against `from_json` to Parquet",
        rate(place.events, mine),
        rate(place.events, theirs),
        theirs / mine,
        TARGET,
        profile=steps([*_anatomy(spark, place), ("written to Delta", mine)]),
    )


def _anatomy(spark: SparkSession, place: Place) -> Iterator[tuple[str, float]]:
    span = Cut.of(place.end.topic, {}).span_to(place.end)
    declared = stream(place.topic)
    records = kafka.at_rest(spark, place.log, place.topic, span, range(PARTITIONS))
    decoded = kafka.decoded(records, declared, Tables("", declared).events_type)
    yield "read from Kafka and dropped", dropped(records)
    yield "the same through a Python worker", dropped(records.mapInArrow(_unchanged, records.schema))
    yield "decoded there, then dropped", dropped(decoded)


def _unchanged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return batches


def dropped(frame: DataFrame) -> float:
    """Seconds to compute all rows and keep none."""
    began = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - began
