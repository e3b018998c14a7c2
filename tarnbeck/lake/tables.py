"""The lake's Delta tables: where they stand, what they hold, how a span is read from them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (the name everybody knows)
from pyspark.sql.pandas.types import from_arrow_schema

from tarnbeck.cut import Span
from tarnbeck.lake.turn import turn
from tarnbeck.schema.decode import REJECTS, events_schema
from tarnbeck.schema.stream import Stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType


@dataclass(frozen=True)
class Tables:
    """The tables of one stream below the lake's root, which may be any place that Spark can write to."""

    root: str
    stream: Stream

    @property
    def folder(self) -> str:
        """Where they stand: those of a used stream in the lake of the application that it belongs to."""
        owner = self.stream.owner
        return f"{self.root}/{self.stream.name}" if owner is None else f"{owner.lake}/{owner.stream}"

    @property
    def events(self) -> str:
        return f"{self.folder}/events"

    @property
    def quarantine(self) -> str:
        return f"{self.folder}/quarantine"

    @property
    def events_type(self) -> StructType:
        return from_arrow_schema(events_schema(self.stream))

    @property
    def quarantine_type(self) -> StructType:
        return from_arrow_schema(REJECTS)


def create(spark: SparkSession, tables: Tables) -> None:
    """Makes the tables where they don't exist yet, so that readers need no special case."""
    for path, schema in ((tables.events, tables.events_type), (tables.quarantine, tables.quarantine_type)):
        if not (Path(path) / "_delta_log").exists():
            with turn(tables.folder):
                spark.createDataFrame([], schema).write.format("delta").mode("ignore").save(path)


def grow(spark: SparkSession, tables: Tables) -> None:
    """Brings the events' table to the stream's columns of today; old rows have nulls in new ones."""
    with turn(tables.folder):
        _grow(spark, tables)


def _grow(spark: SparkSession, tables: Tables) -> None:
    name = _delta(tables.events)
    have = {field.name: field.dataType for field in spark.read.format("delta").load(tables.events).schema}
    for field in tables.events_type:
        kind = field.dataType.simpleString()
        if field.name not in have:
            spark.sql(f"ALTER TABLE {name} ADD COLUMNS ({_quoted(field.name)} {kind})")
        elif have[field.name].simpleString() != kind:
            spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')")
            spark.sql(f"ALTER TABLE {name} ALTER COLUMN {_quoted(field.name)} TYPE {kind}")


def read(spark: SparkSession, tables: Tables, span: Span) -> DataFrame:
    """The events of a span; the caller has made sure that the lake's cut covers its end."""
    if not span:
        # Before the first event there may be no table yet.
        return spark.createDataFrame([], tables.events_type)
    version = None if span.start.offsets else _whole(spark, tables.events, span)
    if version is None:
        return _today(within(spark.read.format("delta").load(tables.events), span), tables)
    return _today(spark.read.format("delta").option("versionAsOf", version).load(tables.events), tables)


def _whole(spark: SparkSession, path: str, span: Span) -> int | None:
    """The table's version as of now, if its files hold nothing but events of the span; else None.

    Looking at the place of every event takes a third of the time of a simple aggregation. Delta's statistics tell it of
    whole files, and what a version holds never changes, whatever is written meanwhile.
    """
    jvm = spark.sparkContext._jvm
    assert jvm is not None  # noqa: S101 (a running session has one)
    snapshot = jvm.org.apache.spark.sql.delta.DeltaLog.forTableWithSnapshot(spark._jsparkSession, path)._2()
    files = DataFrame(snapshot.allFiles().toDF(), spark).select("stats").collect()
    return int(snapshot.version()) if all(_inside(span, file["stats"]) for file in files) else None


def _inside(span: Span, statistics: str | None) -> bool:
    """Whether all events of a file lie in the span; one without statistics may hold anything.

    >>> from tarnbeck.cut import Cut
    >>> span = Cut.of("id", {}).span_to(Cut.of("id", {0: 5, 1: 9}))
    >>> first, last = '"minValues": {"_partition": 0, "_offset": 2}', '"maxValues": {"_partition": 1, "_offset": 4}'
    >>> _inside(span, "{" + first + ", " + last + "}"), _inside(span, "{" + first + "}"), _inside(span, None)
    (True, False, False)
    """
    told = json.loads(statistics or "{}")
    try:
        least, most = told["minValues"], told["maxValues"]
        partitions, offsets = range(least["_partition"], most["_partition"] + 1), (least["_offset"], most["_offset"])
    except KeyError:
        return False
    return all((partition, offset) in span for partition in partitions for offset in offsets)


def _today(frame: DataFrame, tables: Tables) -> DataFrame:
    """The columns of today: a stream that has grown may be read before its table has, or, if used, after it."""
    if not tables.stream.former and tables.stream.owner is None:
        return frame
    missing = F.lit(None)
    return frame.select(
        [
            (F.col(_quoted(field.name)) if field.name in frame.columns else missing)
            .cast(field.dataType)
            .alias(field.name)
            for field in tables.events_type
        ]
    )


def read_quarantine(spark: SparkSession, tables: Tables, span: Span) -> DataFrame:
    return within(spark.read.format("delta").load(tables.quarantine), span)


def within(frame: DataFrame, span: Span) -> DataFrame:
    """The rows whose place is in the span, as a filter that Delta's file statistics can use."""
    return frame.where(" OR ".join(_part(span, partition) for partition, _ in span.end) or "false")


def _part(span: Span, partition: int) -> str:
    start, end = span.start[partition], span.end[partition]
    return f"(_partition = {partition} AND _offset < {end}{f' AND _offset >= {start}' if start else ''})"


@dataclass(frozen=True)
class Size:
    """How much a table holds now."""

    rows: int
    files: int
    bytes: int


def size(spark: SparkSession, path: str) -> Size:
    """Rows are counted by Delta from its file statistics; nothing is read."""
    detail = spark.sql(f"DESCRIBE DETAIL {_delta(path)}").first()
    assert detail is not None  # noqa: S101 (the statement gives one row)
    return Size(spark.read.format("delta").load(path).count(), int(detail["numFiles"]), int(detail["sizeInBytes"]))


def optimize(spark: SparkSession, path: str) -> None:
    """Merges small files into large ones; readers go on undisturbed, the lake writer waits for its turn."""
    with turn(path.rpartition("/")[0]):
        spark.sql(f"OPTIMIZE {_delta(path)}")


def _delta(path: str) -> str:
    return f"delta.{_quoted(path)}"


def _quoted(name: str) -> str:
    escaped = name.replace("`", "``")
    return f"`{escaped}`"
