"""Figure: the speed layer on a backlog against a hand-written Structured Streaming query."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from bench import peers
from bench.declared import MINUTES, PARTITIONS, STREAM, declare
from bench.figure import Figure, Target, race, rate, steps
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

TARGET = Target(1.3, least=True)


def figure(place: Place) -> Figure:
    with place.spark("speed") as spark:
        return measure(spark, place)


def measure(spark: SparkSession, place: Place) -> Figure:
    """From the query's start until the last event of the backlog is committed; the peer keeps its rows to itself."""

    def ours() -> float:
        with place.fresh("speed") as folder:
            return _catch_up(spark, place, folder)

    def peer() -> float:
        with place.fresh("windows") as folder:
            return peers.windows(spark, place.log, place.topic, folder, speed.TRIGGER, speed.MOST)

    mine, theirs = race(place.repeats, ours, peer, place.tell)
    return Figure(
        "speed",
        "backlog to one-minute count, sum, min, max by 1,000 keys, committed, against `window()` and noop",
        rate(place.events, mine),
        rate(place.events, theirs),
        theirs / mine,
        TARGET,
        profile=steps([*_anatomy(spark, place), ("in micro-batches, committed", mine)]),
    )


def _catch_up(spark: SparkSession, place: Place, folder: Path) -> float:
    store = SQLiteStore(folder / "store", now)
    register(declare(place.topic, [MINUTES]), store, place.log)
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


def _anatomy(spark: SparkSession, place: Place) -> Iterator[tuple[str, float]]:
    app = declare(place.topic, [MINUTES])
    origin = Cut.of(place.end.topic, {})
    feeds = {
        place.topic: kernel.Feed(app.streams[STREAM], (kernel.work(1, origin, app.views[MINUTES]),)),
    }
    records = kafka.at_rest(spark, place.log, place.topic, origin.span_to(place.end), range(PARTITIONS))
    named = records.selectExpr(f"'{place.topic}' AS topic", "*")

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return kernel.run(feeds, batches)

    yield "read from Kafka and dropped", dropped(records)
    yield "the same through a Python worker", dropped(named.mapInArrow(lambda batches: batches, named.schema))
    yield "decoded and aggregated there, in one job", dropped(named.mapInArrow(run, from_arrow_schema(kernel.OUTPUT)))
