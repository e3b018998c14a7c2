"""Sliding windows and sessions equal what anyone would count by hand, whatever comes late."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

import tarnbeck as tb
from tarnbeck.errors import DeclarationError
from tarnbeck.testing import run
from tarnbeck.window.window import Window

START = datetime(2026, 1, 1, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Ticks = list[tuple[str, int, int]]
"""Key, seconds since START, value, in the order of the log."""
ticks = st.lists(st.tuples(st.sampled_from("ab"), st.integers(-400, 400), st.integers(-5, 5)), max_size=25)


def answered(window: Window, given_ticks: Ticks) -> list[dict[str, Any]]:
    app = tb.App("windows")
    events = app.stream("events", "time timestamp, key string, n bigint", time="time")
    select = {"count": tb.count(), "total": tb.sum("n"), "low": tb.min("n"), "first": tb.first("n")}
    app.view("view", events, by="key", window=window, select=select)
    return run(app, [{"time": START + timedelta(seconds=s), "key": k, "n": n} for k, s, n in given_ticks])["view"]


def row(key: str, start: datetime, end: datetime, held: list[tuple[int, int, int]]) -> dict[str, Any]:
    values = [n for _, _, n in held]
    return {
        "key": key,
        "start": start,
        "end": end,
        "count": len(values),
        "total": sum(values),
        "low": min(values),
        "first": min(held)[2],
    }


def by_key(given_ticks: Ticks) -> dict[str, list[tuple[int, int, int]]]:
    found: dict[str, list[tuple[int, int, int]]] = {}
    for place, (key, second, n) in enumerate(given_ticks):
        found.setdefault(key, []).append((second, place, n))
    return found


@settings(deadline=None)
@given(ticks, st.integers(1, 12), st.integers(1, 60))
def test_a_sliding_window_holds_exactly_the_events_of_its_time(given_ticks: Ticks, length: int, every: int) -> None:
    length, every = max(length * 10, every), every
    expected = []
    base = int((START - EPOCH).total_seconds())
    for key, held in sorted(by_key(given_ticks).items()):
        for start in range(-600, 600):
            if (base + start) % every:
                continue
            inside = [event for event in held if start <= event[0] < start + length]
            if inside:
                first = START + timedelta(seconds=start)
                expected.append(row(key, first, first + timedelta(seconds=length), inside))
    assert answered(tb.sliding(f"{length} seconds", every=f"{every} seconds"), given_ticks) == expected


@settings(deadline=None)
@given(ticks, st.integers(1, 100))
def test_a_session_ends_when_nothing_comes_for_longer_than_the_gap(given_ticks: Ticks, gap: int) -> None:
    expected = []
    for key, held in sorted(by_key(given_ticks).items()):
        session: list[tuple[int, int, int]] = []
        for event in [*sorted(held), None]:
            if session and (event is None or event[0] - session[-1][0] > gap):
                first, last = START + timedelta(seconds=session[0][0]), START + timedelta(seconds=session[-1][0] + gap)
                expected.append(row(key, first, last, session))
                session = []
            if event is not None:
                session.append(event)
    assert answered(tb.session(f"{gap} seconds"), given_ticks) == expected


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: tb.sliding("1 minute", every="2 minutes"), "would be in none"),
        (lambda: tb.sliding("1 day", every="7 ms"), "larger common divisor"),
        (lambda: tb.sliding("soon", every="7 ms"), "bad duration"),
        (lambda: tb.session("0 s"), "bad duration"),
    ],
)
def test_a_window_that_does_not_fit_is_refused(declare: Any, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        declare()


@settings(deadline=None)
@given(st.lists(st.integers(-7200, 7200), max_size=20), st.integers(1, 100))
def test_an_event_that_comes_too_late_is_left_out_when_a_view_says_so(seconds: list[int], minutes: int) -> None:
    """Seconds that an event was received after its time."""
    app = tb.App("late")
    events = app.stream("events", "time timestamp", time="time")
    app.view("all", events, select={"n": tb.count()})
    app.view("timely", events, late=f"drop after {minutes} minutes", select={"n": tb.count()})
    assert tb.App.of(app.definition()).definition() == app.definition()
    found = run(app, [{"time": START - timedelta(seconds=late)} for late in seconds], received=START)
    timely = sum(1 for late in seconds if late <= minutes * 60)
    assert [row["n"] for row in found["all"]] == ([len(seconds)] if seconds else [])
    assert [row["n"] for row in found["timely"]] == ([timely] if timely else [])


def test_what_can_not_be_done_with_late_events_is_refused() -> None:
    app = tb.App("late")
    events = app.stream("events", "time timestamp", time="time")
    for late in ("drop", "drop after soon", "1 hour"):
        with pytest.raises(DeclarationError, match="late="):
            app.view("view", events, late=late, select={"n": tb.count()})


def test_weeks_that_slide_begin_on_monday() -> None:
    found = answered(tb.sliding("2 weeks", every="1 week"), [("a", 0, 1)])
    assert [(row["start"].isoweekday(), (row["end"] - row["start"]).days) for row in found] == [(1, 14), (1, 14)]


@pytest.mark.parametrize(
    ("aggregate", "message"),
    [
        (tb.quantiles("n", 0.5), "bad shares 0.5"),  # type: ignore[arg-type]
        (tb.quantile("n", 2), "bad share 2"),
        (tb.quantile("n", True), "bad share True"),
        (tb.quantile("n", size=2), "bad size 2"),
        (tb.quantile("key"), "expected a number, found string"),
        (tb.variance("n", population=3), "bad population 3"),  # type: ignore[arg-type]
        (tb.top_k("n", 0), "bad k 0"),
        (tb.sample("n", 10**9), "bad k 1000000000"),
        (tb.uniques("n", precision=3), "bad precision 3"),
        (tb.distinct("n", most=0), "bad most 0"),
        (tb.frequent("n", size=21), "bad size 21"),
        (tb.first("n", k=-1), "bad k -1"),
        (tb.count(where="n"), "expected boolean, found bigint"),
        (tb.sum("n", where="m > 1"), "unknown column 'm'"),
    ],
)
def test_a_bad_option_is_refused_by_name(aggregate: Any, message: str) -> None:
    app = tb.App("bad")
    events = app.stream("events", "time timestamp, key string, n bigint", time="time")
    with pytest.raises(DeclarationError, match=message) as refused:
        app.view("view", events, select={"result": aggregate})
    assert "view 'view': 'result': " in str(refused.value)
