"""The speed layer on a backlog: from the query's start until the last event of the topic is committed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

import tarnbeck as tb
from bench.declared import PARTITIONS
from bench.lake import dropped
from bench.place import Place
from tarnbeck.cut import Cut
from tarnbeck.node.register import register
from tarnbeck.serve.clock import now
from tarnbeck.spark import kafka
from tarnbeck.speed import kernel
from tarnbeck.speed import layer as speed
from tarnbeck.store.sqlite import SQLiteStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def catch_up(spark: SparkSession, place: Place, app: tb.App) -> float:
    """Seconds until every view of the application, which knows nothing yet, can be read up to the topic's end."""
    with place.fresh("speed") as folder:
        store = SQLiteStore(folder / "store", now)
        register(app, store, place.log)
        stop, ends, failures = threading.Event(), list[float](), list[BaseException]()

        def told(_: speed.Progress) -> None:
            if all(version.cut.covers(place.end) for version in store.fed()):
                ends.append(time.perf_counter())
                stop.set()

        def failed(error: BaseException) -> None:
            failures.append(error)
            stop.set()

        began = time.perf_counter()
        speed.run(spark, place.log, store, folder, stop, told=told, failed=failed)
        store.close()
    if not ends:
        raise failures[0]
    return ends[0] - began


def anatomy(spark: SparkSession, place: Place, app: tb.App) -> Iterator[tuple[str, float]]:
    """Where that time goes: ever more of the work over the whole topic, in one job."""
    origin = Cut.of(place.end.topic, {})
    (stream,) = app.streams.values()
    fed = [(number, origin, view) for number, view in enumerate(app.views.values())]
    feeds = {place.topic: [kernel.feed(stream, fed)]}
    nothing = {place.topic: [kernel.feed(stream, [])]}
    records = kafka.at_rest(spark, place.log, place.topic, origin.span_to(place.end), range(PARTITIONS))
    named = records.selectExpr(f"'{place.topic}' AS topic", "*").drop("key")
    output = from_arrow_schema(kernel.OUTPUT)

    def decoded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return kernel.run(nothing, batches)

    def aggregated(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return kernel.run(feeds, batches)

    kinds = {
        "read from Kafka and dropped": records,
        "handed to a Python worker and dropped there": named.mapInArrow(_taken, output),
        "decoded there": named.mapInArrow(decoded, output),
        "aggregated there": named.mapInArrow(aggregated, output),
    }
    # The first of two warms up.
    yield from ((what, min(dropped(frame), dropped(frame))) for what, frame in kinds.items())


def _taken(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        pass
    return iter(())
