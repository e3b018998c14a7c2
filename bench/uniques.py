"""Figure: different users per page and hour from a backlog, against Flink's COUNT(DISTINCT) and Spark's sketch."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 (the name everybody knows)

import tarnbeck as tb
from bench.declared import PARTITIONS
from bench.figure import Figure, Target
from bench.fill import fill
from bench.flink.process import Query
from bench.place import Place
from bench.windows import FLINK, SPARK, Windows, measure

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

USERS = 200_000
SCHEMA = "time timestamp, url string, user string"
TARGETS = {FLINK: Target(1.2, least=True), SPARK: Target(1.5, least=True)}
DISTINCT = Query(
    "`time` TIMESTAMP_LTZ(3), url STRING, `user` STRING",
    "SELECT window_start, url, COUNT(DISTINCT `user`) "
    "FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(`time`), INTERVAL '1' HOUR)) GROUP BY window_start, window_end, url",
    "`start` TIMESTAMP(3), url STRING, users BIGINT",
)


def figures(place: Place) -> Iterator[Figure]:
    visits = filled(place)
    with place.spark("uniques") as spark:
        yield from measure(spark, visits, asked(visits))


def filled(place: Place) -> Place:
    """A topic of its own, of as many visits as the other has events."""
    (stream,) = declare(f"{place.topic}.visits").streams.values()
    end = fill(place.log, stream, place.events, visit, lambda _: None)
    return dataclasses.replace(place, topic=stream.topic, end=end)


def declare(topic: str) -> tb.App:
    app = tb.App("bench")
    visits = app.stream("visits", SCHEMA, time="time", key="url", topic=topic, partitions=PARTITIONS)
    app.view("users", visits, by="url", window=tb.tumbling("1 hour"), select={"users": tb.uniques("user")})
    return app


def asked(place: Place) -> Windows:
    what = f"backlog to different users (of {USERS:,}) per url and hour, 1,000 urls"
    return Windows("uniques", what, declare(place.topic), DISTINCT, SCHEMA, _window, TARGETS)


def _window(events: DataFrame) -> DataFrame:
    return events.groupBy(F.window("time", "1 hour"), "url").agg(F.hll_sketch_agg("user").alias("users"))


def visit(moment: datetime.datetime, url: str, chance: int, seq: int) -> bytes:
    """One visit as JSON, about 75 bytes."""
    return f'{{"time":"{moment:%Y-%m-%dT%H:%M:%S.%f}Z","url":"/{url}","user":"user-{chance % USERS:06d}"}}'.encode()
