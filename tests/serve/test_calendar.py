"""Windows put together to days, months and years: those of the view's own clocks, as a person counts them."""

from __future__ import annotations

import datetime
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any
from zoneinfo import ZoneInfo

import pytest

import tarnbeck as tb
from tarnbeck.errors import UsageError
from tarnbeck.serve import shape, sql
from tarnbeck.serve.answer import Question, answer
from tarnbeck.serve.moment import micros
from tarnbeck.store.sqlite import SQLiteStore
from tarnbeck.window.window import Window
from tests.serve.sample import Event, filled

VIENNA = ZoneInfo("Europe/Vienna")
UTC = ZoneInfo("UTC")
HOUR = datetime.timedelta(hours=1)


def clocks() -> tb.App:
    app = tb.App("clocks")
    stream = app.stream("orders", "time timestamp, item string, pieces int", time="time")
    select = {"n": tb.count(), "pieces": tb.sum("pieces")}
    windows: dict[str, Window] = {
        "vienna": tb.rollup("minute", "hour", "day", "month", zone="Europe/Vienna"),
        "rolled": tb.rollup("minute", "day", "month"),
        "hours": tb.tumbling("6 hours"),
        "weeks": tb.tumbling("1 week"),
        "odd": tb.tumbling("7 hours"),
        "slid": tb.sliding("10 minutes", every="5 minutes"),
    }
    for name, window in windows.items():
        app.view(name, stream, by="item", window=window, select=select)
    return app


@pytest.fixture(scope="module")
def year() -> list[Event]:
    """Events around both changes of the clocks, the turn of months and of the year, by minutes and at midnights."""
    draw = random.Random(3)
    turns = ["2025-10-26T01:00", "2025-10-31T23:00", "2025-12-31T23:00", "2026-01-31T23:00", "2026-03-29T01:00"]
    moments = [
        datetime.datetime.fromisoformat(draw.choice(turns)).replace(tzinfo=datetime.UTC)
        + datetime.timedelta(minutes=draw.choice([-1, 0, 1, draw.randrange(-3000, 3000)]))
        for _ in range(600)
    ]
    return [
        {
            "_partition": 0,
            "_offset": offset,
            "_index": 0,
            "_received": moment,
            "_time": moment,
            "time": moment,
            "item": draw.choice(["tea", "honey"]),
            "pieces": 1,
        }
        for offset, moment in enumerate(moments)
    ]


@pytest.fixture(scope="module")
def sold(year: list[Event], tmp_path_factory: pytest.TempPathFactory) -> Iterator[SQLiteStore]:
    opened = filled(tmp_path_factory.mktemp("calendar") / "store", clocks(), year)
    yield opened
    opened.close()


def beginning(moment: datetime.datetime, unit: str, zone: ZoneInfo) -> datetime.datetime:
    """When the day, month or year began on the clocks of a zone."""
    local = moment.astimezone(zone)
    day = 1 if unit in ("month", "year") else local.day
    month = 1 if unit == "year" else local.month
    return datetime.datetime(local.year, month, day, tzinfo=zone).astimezone(datetime.UTC)


def counted(events: list[Event], unit: str, zone: ZoneInfo) -> Counter[Any]:
    return Counter((event["item"], beginning(event["_time"], unit, zone)) for event in events)


@pytest.mark.parametrize("unit", ["day", "month", "year"])
@pytest.mark.parametrize(
    ("view", "per", "zone"),
    [
        ("vienna", "minute", VIENNA),
        ("vienna", "hour", VIENNA),
        ("vienna", "day", VIENNA),
        ("rolled", "minute", UTC),
        ("rolled", "day", UTC),
        ("hours", None, UTC),
    ],
)
def test_calendar_units_equal_a_recount(
    sold: SQLiteStore, year: list[Event], view: str, per: str | None, zone: ZoneInfo, unit: str
) -> None:
    found = answer(sold, Question(view, per=per, shape=shape.read(None, f"1 {unit}")))
    assert {(row["item"], row["start"]): row["n"] for row in found} == counted(year, unit, zone)
    assert all(row["end"] == beginning(row["end"], unit, zone) for row in found)


def test_months_are_put_together_to_years(sold: SQLiteStore, year: list[Event]) -> None:
    for view, zone in (("vienna", VIENNA), ("rolled", UTC)):
        found = answer(sold, Question(view, per="month", shape=shape.read(None, "year")))
        assert {(row["item"], row["start"]): row["n"] for row in found} == counted(year, "year", zone)


def test_days_have_as_many_hours_as_the_clocks_say(sold: SQLiteStore) -> None:
    found = answer(sold, Question("vienna", shape=shape.read("", "1 day", fill=True)))
    lengths = {(row["start"] + 2 * HOUR).date().isoformat(): (row["end"] - row["start"]) / HOUR for row in found}
    assert (lengths["2025-10-26"], lengths["2026-03-29"], lengths["2026-03-01"]) == (25, 23, 24)
    assert len(found) == len({row["start"] for row in found}) > 150


def test_a_range_gives_whole_months_of_the_zone(sold: SQLiteStore, year: list[Event]) -> None:
    whole = {row["start"]: row for row in answer(sold, Question("vienna", shape=shape.read("", "1 month")))}
    since = micros("2026-01-31T22:59:59Z")
    part = answer(sold, Question("vienna", since=since, until=since + 1, shape=shape.read("", "1 month"))).dicts()
    assert part == [whole[beginning(datetime.datetime(2026, 1, 15, tzinfo=datetime.UTC), "month", VIENNA)]]


def test_hours_and_shorter_windows_are_the_same_in_the_zone(sold: SQLiteStore, year: list[Event]) -> None:
    hours = answer(sold, Question("vienna", per="hour")).rows
    assert answer(sold, Question("vienna", shape=shape.read(None, "1 hour"))).rows == hours
    quarters = answer(sold, Question("vienna", shape=shape.read("", "15 minutes"))).dicts()
    assert sum(row["n"] for row in quarters) == len(year)


def test_sql_has_months_too(sold: SQLiteStore) -> None:
    expected = answer(sold, Question("vienna", shape=shape.read("", "1 month"))).dicts()
    assert sql.query(sold, "select * from vienna(by => '', every => '1 month') order by start").dicts() == expected


@pytest.mark.parametrize(
    ("view", "per", "every", "message"),
    [
        ("vienna", None, "2 days", "time zone is Europe/Vienna.*\n.*1 hour, 1 day, 1 month, 1 year"),
        ("vienna", None, "1 week", "time zone is Europe/Vienna"),
        ("vienna", None, "6 hours", "time zone is Europe/Vienna"),
        ("vienna", "month", "1 day", "can't be put together to days"),
        ("weeks", None, "1 month", "can't be put together to months"),
        ("odd", None, "1 month", "can't be put together to months"),
        ("slid", None, "1 month", "can't be put together"),
        ("rolled", None, "2 months", "expected one calendar unit"),
        ("rolled", None, "3 years", "expected one calendar unit"),
    ],
)
def test_what_does_not_fit_is_refused(sold: SQLiteStore, view: str, per: str | None, every: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        answer(sold, Question(view, per=per, shape=shape.read(None, every)))


def test_the_text_of_a_unit_is_read_back() -> None:
    for text in ("1 month", "year", "1 day", "90 seconds"):
        wanted = shape.read(None, text)
        (every,) = [value for name, value in wanted.parameters() if name == "every"]
        assert shape.read(None, every) == wanted
