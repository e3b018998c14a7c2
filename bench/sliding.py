"""Figure: windows of ten minutes every ten seconds from a backlog, against Flink's HOP and Spark's `window()`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 (the name everybody knows)

from bench.declared import SCHEMA, SLIDING, declare
from bench.figure import Figure, Target
from bench.flink.process import COLUMNS, Query
from bench.place import Place
from bench.windows import FLINK, SPARK, Windows, measure

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TARGETS = {FLINK: Target(1.3, least=True), SPARK: Target(8.0, least=True)}
HOP = Query(
    COLUMNS,
    "SELECT window_start, `key`, COUNT(*), SUM(`value`) "
    "FROM TABLE(HOP(TABLE events, DESCRIPTOR(`time`), INTERVAL '10' SECOND, INTERVAL '10' MINUTE)) "
    "GROUP BY window_start, window_end, `key`",
    "`start` TIMESTAMP(3), `key` STRING, n BIGINT, total DOUBLE",
)
SLOW = 2


def figures(place: Place) -> Iterator[Figure]:
    with place.spark("sliding") as spark:
        yield from measure(spark, place, asked(place))


def asked(place: Place) -> Windows:
    what = "backlog to count and sum of 10 minutes every 10 seconds by 1,000 keys"
    return Windows("sliding", what, declare(place.topic, [SLIDING]), HOP, SCHEMA, _window, TARGETS, SLOW)


def _window(events: DataFrame) -> DataFrame:
    grouped = events.groupBy(F.window("time", "10 minutes", "10 seconds"), "key")
    return grouped.agg(F.count("*").alias("n"), F.sum("value").alias("s"))
