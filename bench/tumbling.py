"""Figure: one-minute windows from a backlog, against Flink's TUMBLE and Structured Streaming's `window()`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 (the name everybody knows)

from bench.declared import MINUTES, SCHEMA, declare
from bench.figure import Figure, Target
from bench.flink.process import COLUMNS, Query
from bench.place import Place
from bench.windows import FLINK, SPARK, Windows, measure

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TARGETS = {FLINK: Target(1.2, least=True), SPARK: Target(1.5, least=True)}
TUMBLE = Query(
    COLUMNS,
    "SELECT window_start, `key`, COUNT(*), SUM(`value`), MIN(`value`), MAX(`value`) "
    "FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(`time`), INTERVAL '1' MINUTE)) "
    "GROUP BY window_start, window_end, `key`",
    "`start` TIMESTAMP(3), `key` STRING, n BIGINT, total DOUBLE, least DOUBLE, most DOUBLE",
)


def figures(place: Place) -> Iterator[Figure]:
    with place.spark("tumbling") as spark:
        yield from measure(spark, place, asked(place))


def asked(place: Place) -> Windows:
    what = "backlog to one-minute count, sum, min, max by 1,000 keys"
    return Windows("tumbling", what, declare(place.topic, [MINUTES]), TUMBLE, SCHEMA, _window, TARGETS)


def _window(events: DataFrame) -> DataFrame:
    value = F.col("value")
    grouped = events.groupBy(F.window("time", "1 minute"), "key")
    return grouped.agg(
        F.count("*").alias("n"), F.sum(value).alias("s"), F.min(value).alias("l"), F.max(value).alias("m")
    )
