"""A span is read from the lake as it is, whatever else the lake holds or gets."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import tarnbeck as tb
from tarnbeck.cut import Cut, Span
from tarnbeck.lake import tables as lake
from tarnbeck.lake.tables import Tables

pytestmark = pytest.mark.spark

TIME = datetime(2026, 1, 1, tzinfo=UTC)
Places = list[tuple[int, int]]


def span(end: dict[int, int], start: dict[int, int] | None = None) -> Span:
    return Cut.of("id", start or {}).span_to(Cut.of("id", end))


@pytest.fixture
def tables(spark: Any, tmp_path: Path) -> Tables:
    stream = tb.App("lake").stream("events", "time timestamp", time="time")
    made = Tables(str(tmp_path), stream)
    lake.create(spark, made)
    return made


def append(spark: Any, tables: Tables, places: Places) -> None:
    """One file of events at these places."""
    names = tables.events_type.names
    known = {"_index": 0, "_received": TIME, "_time": TIME, "time": TIME}
    rows = [known | {"_partition": partition, "_offset": offset} for partition, offset in places]
    frame = spark.createDataFrame([tuple(row.get(name) for name in names) for row in rows], tables.events_type)
    frame.coalesce(1).write.format("delta").mode("append").save(tables.events)


def found(spark: Any, tables: Tables, asked: Span) -> tuple[Places, bool]:
    """The places that are read, and whether every one of them had to be looked at."""
    frame = lake.read(spark, tables, asked)
    rows = frame.select("_partition", "_offset").collect()
    plan = frame._jdf.queryExecution().optimizedPlan().toString()
    return sorted((row[0], row[1]) for row in rows), "Filter" in plan


def test_places_are_looked_at_only_where_files_may_hold_more_than_the_span(spark: Any, tables: Tables) -> None:
    append(spark, tables, [(0, 0), (0, 1)])
    append(spark, tables, [(1, 0), (1, 1), (1, 2)])
    everything = [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)]
    assert found(spark, tables, span({0: 2, 1: 3})) == (everything, False)
    # Markers and events in quarantine take offsets, too: a cut may be beyond the last event.
    assert found(spark, tables, span({0: 5, 1: 3})) == (everything, False)
    assert found(spark, tables, span({0: 2, 1: 2})) == (everything[:-1], True)
    assert found(spark, tables, span({0: 2})) == (everything[:2], True)
    assert found(spark, tables, span({0: 2, 1: 3}, {1: 1})) == ([(0, 0), (0, 1), (1, 1), (1, 2)], True)


def test_a_file_of_several_partitions_is_looked_at_unless_it_fits_into_each(spark: Any, tables: Tables) -> None:
    append(spark, tables, [(0, 0), (1, 0), (1, 1)])
    assert found(spark, tables, span({0: 2, 1: 2})) == ([(0, 0), (1, 0), (1, 1)], False)
    assert found(spark, tables, span({0: 1, 1: 2})) == ([(0, 0), (1, 0), (1, 1)], True)


def test_what_the_lake_gets_after_a_span_was_taken_is_not_in_it(spark: Any, tables: Tables) -> None:
    append(spark, tables, [(0, 0), (0, 1)])
    frame = lake.read(spark, tables, span({0: 2}))
    append(spark, tables, [(0, 2)])
    lake.optimize(spark, tables.events)
    assert frame.count() == 2
    assert found(spark, tables, span({0: 2})) == ([(0, 0), (0, 1)], True)
    assert found(spark, tables, span({0: 3})) == ([(0, 0), (0, 1), (0, 2)], False)


def test_a_table_without_events_has_none_in_any_span(spark: Any, tables: Tables) -> None:
    assert found(spark, tables, span({0: 2}))[0] == []
