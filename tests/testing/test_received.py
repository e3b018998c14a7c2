"""When events of a test are received: by the newest so far, so that late and keep mean something."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

import tarnbeck as tb
from tarnbeck.testing import run

START = datetime(2026, 3, 1, 9, tzinfo=UTC)


def clicks() -> tb.App:
    app = tb.App("clicks")
    source = app.stream("clicks", "time timestamp, user string", time="time")
    app.view("every", source, select={"n": tb.count()})
    app.view("in_time", source, late="drop after 1 hour", select={"n": tb.count()})
    app.view("recent", source, window=tb.tumbling("10 minutes"), keep="30 minutes", select={"n": tb.count()})
    arrived = app.stream("arrived", "user string", time=tb.arrival())
    app.view("arrivals", arrived, window=tb.tumbling("1 day"), select={"n": tb.count()})
    return app


def at(*minutes: int) -> list[dict[str, object]]:
    return [{"time": START + timedelta(minutes=minute), "user": "x"} for minute in minutes]


def test_each_event_arrives_when_the_newest_so_far_has_happened() -> None:
    found = run(clicks(), {"clicks": at(0, 90, 30, 29, 45)})
    assert found["every"] == [{"n": 5}]
    assert found["in_time"] == [{"n": 4}]
    assert [row["start"] for row in found["recent"]] == [START + timedelta(minutes=90)]


@pytest.mark.parametrize("minutes", [(0, 30, 60), (0, 1_000, 2_000)])
def test_nothing_is_late_that_comes_in_order(minutes: tuple[int, ...]) -> None:
    assert run(clicks(), {"clicks": at(*minutes)})["in_time"] == [{"n": 3}]


def test_rows_of_a_table_arrive_one_by_one() -> None:
    table = pa.Table.from_pylist(at(0, 90, 29))
    assert run(clicks(), {"clicks": [table]})["in_time"] == [{"n": 2}]


def test_a_moment_that_is_named_is_that_of_all() -> None:
    events: dict[str, list[dict[str, object]]] = {"clicks": at(0, 90, 30), "arrived": [{"user": "x"}]}
    found = run(clicks(), events, received=START + timedelta(minutes=91))
    assert found["in_time"] == [{"n": 1}]
    assert [row["start"].day for row in found["arrivals"]] == [1]


def test_what_has_no_time_of_its_own_arrives_in_1970() -> None:
    (row,) = run(clicks(), {"arrived": [{"user": "x"}]})["arrivals"]
    assert row["start"].year == 1970
