"""Figure: ten views of one stream on a backlog, against one of them alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import tarnbeck as tb
from bench.backlog import anatomy, catch_up
from bench.declared import MINUTES, PARTITIONS, SCHEMA, STREAM, declare
from bench.figure import OURS, Figure, Target, race, rate, steps
from bench.place import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TARGET = Target(3.0, least=False)
ALONE = "one view"


def figures(place: Place) -> Iterator[Figure]:
    with place.spark("views") as spark:
        yield measure(spark, place)


def measure(spark: SparkSession, place: Place) -> Figure:
    """Seconds of ten views divided by those of one."""
    ten, one = declare_ten(place.topic), declare(place.topic, [MINUTES])
    sides = {OURS: lambda: catch_up(spark, place, ten), ALONE: lambda: catch_up(spark, place, one)}
    best = race(place.repeats, sides, place.tell)
    return Figure(
        "views",
        "backlog to ten views by five kinds of keys and windows, committed, against one of them (lower is better)",
        rate(place.events, best[OURS]),
        rate(place.events, best[ALONE]),
        best[OURS] / best[ALONE],
        TARGET,
        profile=steps([*anatomy(spark, place, ten), ("in micro-batches, committed", best[OURS])]),
    )


def declare_ten(topic: str) -> tb.App:
    """Views as an application has them: most by the same key, some of parts of the events, some of all together."""
    app = tb.App("bench")
    events = app.stream(STREAM, SCHEMA, time="time", key="key", topic=topic, partitions=PARTITIONS)
    minute, total = tb.tumbling("1 minute"), {"events": tb.count(), "total": tb.sum("value")}
    extremes = {"least": tb.min("value"), "most": tb.max("value")}
    edges = {"open": tb.first("value"), "close": tb.last("value")}
    app.view(MINUTES, events, by="key", window=minute, select={**total, **extremes})
    app.view("means", events, by="key", window=minute, select={"mean": tb.mean("value"), "events": tb.count()})
    app.view("spread", events, by="key", window=minute, select={"deviation": tb.stddev("value")})
    app.view("rolled", events, by="key", window=tb.rollup("minute", "hour", "day"), select={**extremes, **edges})
    app.view("hours", events, by="key", window=tb.tumbling("1 hour"), select=total)
    app.view("latest", events, by="key", select={"seq": tb.max("seq"), "value": tb.last("value")})
    app.view("large", events, by="key", where="value > 9000", window=minute, select=total)
    app.view("sides", events, by="side", window=minute, select=total)
    app.view("sold", events, by=("key", "side"), window=tb.tumbling("10 minutes"), select=total)
    app.view("moving", events, window=tb.sliding("10 minutes", every="10 seconds"), select=total)
    return app
