"""Figure: a replay from the lake against the same events from Kafka by a hand-written Structured Streaming query."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from bench import tumbling
from bench.batch import write_lake
from bench.declared import MINUTES, STREAM, declare
from bench.figure import OURS, Figure, Target, Timed, race, rate
from bench.place import Place
from bench.windows import SPARK, structured
from tarnbeck.batch.layer import Source
from tarnbeck.lake.tables import Tables
from tarnbeck.node.register import add, register
from tarnbeck.replay import layer as replay
from tarnbeck.serve.clock import now
from tarnbeck.store.sqlite import SQLiteStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TARGET = Target(3, least=True)


def figures(place: Place) -> Iterator[Figure]:
    with place.spark("replay") as spark:
        yield measure(spark, place)


def measure(spark: SparkSession, place: Place) -> Figure:
    """From nothing to a version that can answer; the peer keeps its rows to itself."""
    app = declare(place.topic, [MINUTES])
    with place.fresh("replay") as folder:
        tables = Tables(str(folder / "lake"), app.streams[STREAM])
        store = SQLiteStore(folder / "store", now)
        register(app, store, place.log)
        write_lake(spark, place, store, tables)
        source = Source(spark, place.log, store, tables.root)

        def ours() -> float:
            version = add(app.views[MINUTES], store).id
            began = time.perf_counter()
            done = replay.run(
                source,
                version,
                max_rate=None,
                step=lambda _: None,
                told=lambda _: None,
                stop=threading.Event(),
            )
            took = time.perf_counter() - began
            assert done.records == place.events, f"expected all events, found {done}"
            store.drop_version(version)
            store.collect()
            return took

        sides: dict[str, Timed] = {OURS: ours, SPARK: lambda: structured(spark, place, tumbling.asked(place))}
        best = race(place.repeats, sides, place.tell)
        store.close()
    mine, theirs = best[OURS], best[SPARK]
    return Figure(
        "replay",
        "lake to a new version with one-minute count, sum, min, max by 1,000 keys, against Kafka, `window()` and noop",
        rate(place.events, mine),
        rate(place.events, theirs),
        theirs / mine,
        TARGET,
    )
