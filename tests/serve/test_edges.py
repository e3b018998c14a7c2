"""Answers at the edges of the calendar: rows that are in a store are told, however far their windows reach."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tarnbeck as tb
from tarnbeck.arrow import partials as arrow
from tarnbeck.schema.decode import events_schema
from tarnbeck.serve import render
from tarnbeck.serve.answer import Question, answer
from tarnbeck.serve.changes import look
from tarnbeck.serve.moment import EARLIEST, LATEST, told
from tarnbeck.serve.shape import read
from tarnbeck.serve.sql import query
from tarnbeck.testing import run
from tarnbeck.window.window import Window
from tests.serve.sample import filled, to_arrow

LAST = dt.datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=dt.UTC)
FIRST = dt.datetime(1, 1, 1, tzinfo=dt.UTC)
ENDS = [FIRST, told(EARLIEST), told(LATEST), LAST]
"""The years that a column can hold, which an event's time once could be in, and those that it can be in."""
WINDOWS = [
    tb.all_time(),
    tb.tumbling("1 minute"),
    tb.tumbling("36000 days"),
    tb.sliding("36000 days", every="12000 days"),
    tb.sliding("10 minutes", every="1 minute"),
    tb.session("36000 days"),
    tb.rollup("second", "minute", "hour", "day", "month", "year"),
    tb.rollup("hour", "day", "month", "year", zone="Europe/Vienna"),
    tb.rollup("hour", "day", "month", "year", zone="America/New_York"),
    tb.rollup("day", zone="Pacific/Kiritimati"),
]


def of(window: Window) -> tb.App:
    app = tb.App("edges")
    events = app.stream("events", "time timestamp", time="time")
    app.view("view", events, window=window, select={"n": tb.count()})
    return app


def stored(moments: list[dt.datetime]) -> list[dict[str, Any]]:
    place = {"_partition": 0, "_index": 0, "_received": told(0)}
    return [{**place, "_offset": at, "_time": moment, "time": moment} for at, moment in enumerate(moments)]


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_rows_at_the_edges_are_told(tmp_path: Path, window: Window) -> None:
    store = filled(tmp_path, of(window), stored([moment for moment in ENDS for _ in range(3)]))
    for level in window.levels:
        found = answer(store, Question("view", per=level))
        assert sum(row["n"] for row in found) >= 12
        for row in found:
            assert FIRST <= row.get("start", FIRST) < row.get("end", LAST) <= LAST
        for kind in render.KINDS:
            render.answer(found, kind)
    look(store, Question("view"))
    assert query(store, "SELECT sum(n) AS n FROM view").table.column("n")[0].as_py() >= 12
    if not isinstance(window, type(tb.all_time())):
        answer(store, Question("view", since=EARLIEST, until=LATEST))


@pytest.mark.parametrize("every", ["5 minutes", "36000 days", "all"])
def test_longer_windows_are_put_together_at_the_edges(tmp_path: Path, every: str) -> None:
    store = filled(tmp_path, of(tb.tumbling("1 minute")), stored([moment for moment in ENDS for _ in range(3)]))
    for since, until in ((None, None), (EARLIEST, LATEST)):
        found = answer(store, Question("view", since=since, until=until, shape=read(None, every)))
        assert sum(row["n"] for row in found) >= 6


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_the_kernel_counts_at_the_edges_what_one_by_one_counts(window: Window) -> None:
    """Also events of all years, which a lake may hold from before there were bounds."""
    app, events = of(window), stored(ENDS)
    view = app.views["view"]
    table = pa.Table.from_pylist([{**event, "_extra": None} for event in events], schema=events_schema(view.stream))
    (found,) = arrow.partials(arrow.steps(view), table)
    places = [("level", "ascending"), ("pane", "ascending")]
    assert found.sort_by(places).to_pylist() == to_arrow(view, events).sort_by(places).to_pylist()


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_an_event_outside_its_years_is_set_aside_and_the_others_count(window: Window) -> None:
    done = run(of(window), [{"time": moment} for moment in ENDS[1:3]])
    assert sum(row["n"] for row in done["view"]) >= 2
    odd = run(of(window), [b'{"time":"0001-01-01T00:00:00Z"}', b'{"time":"9999-12-31T23:59:59Z"}'])
    assert odd["view"] == []
    assert [reason.partition("' ")[2] for reason in odd.rejects["events"]] == ["is outside the years 0002 to 9998"] * 2
