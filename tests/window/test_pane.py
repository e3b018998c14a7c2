"""Panes: every moment belongs to exactly one, in UTC, in time zones, before 1970 and through changes of the clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import tarnbeck as tb
from tarnbeck.window.duration import DAY, HOUR, MINUTE, WEEK
from tarnbeck.window.pane import Calendar, Fixed

UNIX = datetime(1970, 1, 1, tzinfo=UTC)
ZONES = ["UTC", "Europe/Vienna", "Asia/Kolkata", "America/Sao_Paulo", "Australia/Lord_Howe", "Africa/Monrovia"]
MOMENTS = st.integers(-100 * 365 * DAY, 150 * 365 * DAY)


def micros(text: str) -> int:
    return (datetime.fromisoformat(text) - UNIX) // timedelta(microseconds=1)


def naive_start(unit: str, zone: str, moment: int) -> datetime:
    """What the clock on the wall of that zone shows, with the smaller hands set back."""
    local = (UNIX + timedelta(microseconds=moment)).astimezone(ZoneInfo(zone))
    smaller = {"hour": 0, "minute": 0, "second": 0, "microsecond": 0}
    if unit == "month":
        local = local.replace(day=1)
    if unit == "year":
        local = local.replace(month=1, day=1)
    return local.replace(**smaller, fold=0).astimezone(UTC)  # type: ignore[arg-type]


@given(MOMENTS, st.sampled_from(ZONES), st.sampled_from(["day", "month", "year"]))
def test_a_calendar_pane_starts_when_its_local_day_month_or_year_does(moment: int, zone: str, unit: str) -> None:
    start = Calendar(unit, zone).start_of(moment)
    assert UNIX + timedelta(microseconds=start) == naive_start(unit, zone, moment)


@given(st.lists(MOMENTS, min_size=1, max_size=50), st.sampled_from(ZONES), st.sampled_from(["hour", "day", "month"]))
def test_many_moments_at_once_find_the_same_panes_as_one_by_one(moments: list[int], zone: str, unit: str) -> None:
    pane = Calendar(unit, zone)
    assert pane.starts_of(np.array(moments)).tolist() == [pane.start_of(moment) for moment in moments]


@given(MOMENTS, st.integers(1, 10 * DAY), st.integers(0, 10 * DAY))
def test_a_fixed_pane_holds_its_moment_and_begins_a_whole_number_of_lengths_from_the_origin(
    moment: int, length: int, origin: int
) -> None:
    pane = Fixed(length, origin)
    start = pane.start_of(moment)
    assert start <= moment < start + length
    assert (start - origin) % length == 0
    assert pane.starts_of(np.array([moment])).tolist() == [start]


def test_the_hour_that_is_repeated_when_clocks_go_back_is_two_panes() -> None:
    pane = Calendar("hour", "Europe/Vienna")
    summer, winter = micros("2026-10-25T00:30:00+00:00"), micros("2026-10-25T01:30:00+00:00")
    assert pane.start_of(winter) - pane.start_of(summer) == HOUR


def test_a_day_with_a_change_of_the_clock_is_23_or_25_hours_long() -> None:
    pane = Calendar("day", "Europe/Vienna")
    for day, hours in (("2026-03-29", 23), ("2026-10-25", 25), ("2026-06-01", 24)):
        start = pane.start_of(micros(f"{day}T12:00:00+00:00"))
        assert pane.end_of(start) == start + hours * HOUR


def test_a_day_whose_midnight_is_skipped_starts_when_the_clock_goes_on() -> None:
    pane = Calendar("day", "America/Sao_Paulo")
    start = pane.start_of(micros("2018-11-04T12:00:00+00:00"))
    assert start == micros("2018-11-04T03:00:00+00:00")
    assert pane.end_of(pane.start_of(micros("2018-11-03T12:00:00+00:00"))) == start


@given(MOMENTS, st.sampled_from(ZONES), st.sampled_from(["day", "month", "year"]))
def test_a_pane_ends_where_the_next_one_begins(moment: int, zone: str, unit: str) -> None:
    pane = Calendar(unit, zone)
    end = pane.end_of(pane.start_of(moment))
    assert end is not None
    assert pane.start_of(end) == end
    assert pane.start_of(end - 1) == pane.start_of(moment)


def test_whole_weeks_begin_on_a_monday() -> None:
    (pane,) = tb.tumbling("1 week").panes
    start = UNIX + timedelta(microseconds=pane.start_of(micros("2026-11-15T12:00:00+00:00")))
    assert start.weekday() == 0


def test_a_rollup_in_utc_needs_no_calendar_below_months() -> None:
    panes = tb.rollup("second", "minute", "hour", "day", "month").panes
    assert [type(pane) for pane in panes] == [Fixed, Fixed, Fixed, Fixed, Calendar]


@pytest.mark.parametrize(
    "text", ["", "5", "minutes ago", "-1 minute", "1.5 hours", "0 s", "1 fortnight", "9" * 30 + "s"]
)
def test_a_bad_duration_is_refused_with_what_was_expected(text: str) -> None:
    with pytest.raises(tb.TarnbeckError, match="expected a number and a unit"):
        tb.tumbling(text)


@pytest.mark.parametrize(
    ("units", "zone"),
    [((), "UTC"), (("day", "hour"), "UTC"), (("day", "day"), "UTC"), (("week",), "UTC"), (("day",), "Mars/Olympus")],
)
def test_a_bad_rollup_is_refused(units: tuple[str, ...], zone: str) -> None:
    with pytest.raises(tb.TarnbeckError, match="expected"):
        tb.rollup(*units, zone=zone)


def test_lengths_are_read_as_people_write_them() -> None:
    (pane,) = tb.tumbling("90 s").panes
    assert pane == Fixed(90 * 1_000_000)
    assert tb.tumbling("2 weeks").length == 2 * WEEK
    assert tb.tumbling("minute").length == MINUTE
