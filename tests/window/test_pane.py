"""Panes: every moment belongs to exactly one, in UTC, in time zones, before 1970 and through changes of the clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import tarnbeck as tb
from tarnbeck.schema.literal import ANY, OF_EVENTS
from tarnbeck.window.duration import DAY, HOUR, MINUTE, WEEK
from tarnbeck.window.pane import Calendar, Fixed

UNIX = datetime(1970, 1, 1, tzinfo=UTC)
ZONES = ["UTC", "Europe/Vienna", "Asia/Kolkata", "America/Sao_Paulo", "Australia/Lord_Howe", "Africa/Monrovia"]
ZONES += ["America/St_Johns", "America/Toronto", "Pacific/Apia"]
MOMENTS = st.integers(-100 * 365 * DAY, 150 * 365 * DAY)
ODD_CHANGES = [
    ("America/St_Johns", "2010-11-07T02:31:00+00:00"),
    ("America/St_Johns", "1988-04-03T03:31:00+00:00"),
    ("America/Goose_Bay", "2010-11-07T03:01:00+00:00"),
    ("Asia/Gaza", "2010-03-26T22:01:00+00:00"),
    ("Africa/Monrovia", "1972-01-07T00:44:30+00:00"),
    ("America/Toronto", "1919-03-31T04:30:00+00:00"),
    ("Pacific/Apia", "2011-12-30T10:00:00+00:00"),
    ("Australia/Lord_Howe", "2026-04-04T15:00:00+00:00"),
]
"""When clocks were set at a minute after midnight, by odd seconds, over midnight, by a day, or by half an hour."""


def micros(text: str) -> int:
    return (datetime.fromisoformat(text) - UNIX) // timedelta(microseconds=1)


def naive_start(unit: str, zone: str, moment: int) -> datetime:
    """Back from the next day on, the first midnight of a unit that a clock on the wall of that zone had shown."""
    now = UNIX + timedelta(microseconds=moment)
    day = now.astimezone(ZoneInfo(zone)).replace(hour=0, minute=0, second=0, microsecond=0, fold=0) + timedelta(days=1)
    while True:
        begins = unit == "day" or (day.day == 1 and (unit == "month" or day.month == 1))
        if begins and day.astimezone(UTC) <= now:
            return day.astimezone(UTC)
        day -= timedelta(days=1)


near_changes = st.sampled_from(ODD_CHANGES).flatmap(
    lambda change: st.tuples(
        st.just(change[0]), st.integers(-2 * HOUR, 2 * HOUR).map(lambda far: micros(change[1]) + far)
    )
)
"""A zone, and a moment near one of its changes."""


@given(st.tuples(st.sampled_from(ZONES), MOMENTS) | near_changes, st.sampled_from(["day", "month", "year"]))
def test_a_calendar_pane_starts_when_its_local_day_month_or_year_does(at: tuple[str, int], unit: str) -> None:
    zone, moment = at
    start = Calendar(unit, zone).start_of(moment)
    assert UNIX + timedelta(microseconds=start) == naive_start(unit, zone, moment)


@given(st.lists(MOMENTS, min_size=1, max_size=50), st.sampled_from(ZONES), st.sampled_from(["hour", "day", "month"]))
def test_many_moments_at_once_find_the_same_panes_as_one_by_one(moments: list[int], zone: str, unit: str) -> None:
    pane = Calendar(unit, zone)
    assert pane.starts_of(np.array(moments)).tolist() == [pane.start_of(moment) for moment in moments]


@given(st.sampled_from(ODD_CHANGES), st.lists(st.integers(-2 * HOUR, 2 * HOUR)), st.sampled_from(["hour", "day"]))
def test_many_moments_near_a_change_find_panes_that_hold_them(
    change: tuple[str, str], around: list[int], unit: str
) -> None:
    pane, moments = Calendar(unit, change[0]), [micros(change[1]) + far for far in around]
    starts = pane.starts_of(np.array(moments, dtype=np.int64)).tolist()
    assert starts == [pane.start_of(moment) for moment in moments]
    for start, moment in zip(starts, moments, strict=True):
        end = pane.end_of(start)
        assert end is not None
        assert start <= moment < end


def test_the_evening_that_comes_twice_ends_the_day_only_once() -> None:
    pane, moment = Calendar("day", "America/St_Johns"), micros("2010-11-07T02:35:00+00:00")
    assert pane.start_of(moment) == pane.starts_of(np.array([moment])).item() == micros("2010-11-07T02:30:00+00:00")
    assert pane.end_of(pane.start_of(moment)) == micros("2010-11-08T03:30:00+00:00")


@pytest.mark.parametrize("unit", ["hour", "day", "month", "year"])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Vienna", "America/New_York", "Pacific/Kiritimati"])
@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59.999999+00:00"])
def test_no_moment_runs_over_the_edge_of_the_calendar(unit: str, zone: str, time: str) -> None:
    pane, moment = Calendar(unit, zone), micros(time)
    assert pane.starts_of(np.array([moment])).tolist() == [pane.start_of(moment)]
    assert pane.start_of(moment) <= moment < (pane.end_of(pane.start_of(moment)) or 0)
    cycle = 146_097 * DAY if moment < 0 else -146_097 * DAY
    assert pane.start_of(moment) == pane.start_of(moment + cycle) - cycle


@given(
    st.sampled_from([OF_EVENTS.first, OF_EVENTS.last]),
    st.integers(0, DAY) | st.integers(0, 800 * DAY),
    st.sampled_from([*ZONES, "Pacific/Kiritimati", "Pacific/Pago_Pago"]),
    st.sampled_from(["hour", "day", "month", "year"]),
)
def test_the_panes_of_all_events_are_in_the_calendar(end: int, far: int, zone: str, unit: str) -> None:
    moment = end + far if end < 0 else end - far
    pane = Calendar(unit, zone)
    start = pane.start_of(moment)
    assert ANY.first <= start <= moment < (pane.end_of(start) or 0) <= ANY.last


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


@given(st.tuples(st.sampled_from(ZONES), MOMENTS) | near_changes, st.sampled_from(["day", "month", "year"]))
def test_a_pane_ends_where_the_next_one_begins(at: tuple[str, int], unit: str) -> None:
    zone, moment = at
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
