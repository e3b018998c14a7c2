"""Answers against a naive recount of the events."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tarnbeck as tb
from tarnbeck.errors import NotReady, UsageError
from tarnbeck.serve.answer import Answer, MissingError, Question, answer, answers, ask, quick
from tarnbeck.serve.memo import Memo
from tarnbeck.serve.moment import micros
from tarnbeck.store.sqlite import SQLiteStore
from tests.serve.sample import BEGIN, NOW, Event, cut_after, feed, filled, register

LENGTHS = {
    "minute": datetime.timedelta(minutes=1),
    "hour": datetime.timedelta(hours=1),
    "day": datetime.timedelta(days=1),
    "10 minutes": datetime.timedelta(minutes=10),
}


def window_of(moment: datetime.datetime, length: datetime.timedelta) -> datetime.datetime:
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    return day + (moment - day) // length * length


def recount(events: list[Event], keys: tuple[str, ...], level: str | None) -> dict[tuple[Any, ...], dict[str, Any]]:
    groups: dict[tuple[Any, ...], list[Event]] = defaultdict(list)
    for event in events:
        window = () if level is None else (window_of(event["_time"], LENGTHS[level]),)
        groups[*(event[key] for key in keys), *window].append(event)
    return {place: summary(group) for place, group in groups.items()}


def summary(group: list[Event]) -> dict[str, Any]:
    prices = [e for e in group if e["price"] is not None]
    pieces = [e["pieces"] for e in group if e["pieces"] is not None]
    weights = [e["weight"] for e in group if e["weight"] is not None]
    return {
        "orders": len(group),
        "pieces": sum(pieces) if pieces else None,
        "turnover": sum(e["price"] for e in prices) if prices else None,
        "dearest": max(e["price"] for e in prices) if prices else None,
        "last": max(prices, key=lambda e: (e["_time"], e["_partition"], e["_offset"]))["price"] if prices else None,
        "weight": pytest.approx(sum(weights) / len(weights)) if weights else None,
    }


def found(given: Answer, keys: tuple[str, ...]) -> dict[tuple[Any, ...], dict[str, Any]]:
    rows = {}
    for row in given:
        place = tuple(row.pop(key) for key in keys)
        start, end = row.pop("start", None), row.pop("end", None)
        if start is not None:
            assert end - start == LENGTHS[given.level]
            place = (*place, start)
        rows[place] = row
    return rows


@pytest.mark.parametrize("level", ["minute", "hour", "day"])
def test_every_level_of_a_rollup_equals_a_recount(store: SQLiteStore, events: list[Event], level: str) -> None:
    given = answer(store, Question("by_time", per=level))
    assert found(given, ("item",)) == recount(events, ("item",), level)
    assert given.cut == cut_after(events)
    assert given.records == len(events)
    assert not given.truncated


def test_a_view_of_two_keys_equals_a_recount(store: SQLiteStore, events: list[Event]) -> None:
    given = answer(store, Question("by_shop"))
    assert found(given, ("item", "shop")) == recount(events, ("item", "shop"), "10 minutes")


def test_a_view_over_all_time_equals_a_recount_and_has_no_window_columns(
    store: SQLiteStore, events: list[Event]
) -> None:
    given = answer(store, Question("total"))
    assert found(given, ("item",)) == recount(events, ("item",), None)
    assert given.names == ("item", "orders", "pieces", "turnover", "dearest", "last", "weight")


@pytest.mark.parametrize(
    ("keys", "fits"),
    [
        ({"item": "pear", "shop": 1}, lambda e: e["item"] == "pear" and e["shop"] == 1),
        ({"item": "pear", "shop": "2"}, lambda e: e["item"] == "pear" and e["shop"] == 2),
        ({"item": None, "shop": None}, lambda e: e["item"] is None and e["shop"] is None),
        ({"item": "plum"}, lambda e: e["item"] == "plum"),
        ({"shop": 2}, lambda e: e["shop"] == 2),
        ({"shop": None}, lambda e: e["shop"] is None),
        ({"item": "no such"}, lambda e: False),
    ],
)
def test_keys_select_their_events_only(
    store: SQLiteStore, events: list[Event], keys: dict[str, Any], fits: Callable[[Event], bool]
) -> None:
    given = answer(store, Question("by_shop", keys))
    assert found(given, ("item", "shop")) == recount([e for e in events if fits(e)], ("item", "shop"), "10 minutes")


def test_a_range_selects_the_windows_that_overlap_it(store: SQLiteStore) -> None:
    since, until = micros("2026-03-01T10:15:30Z"), micros("2026-03-01T10:18:00Z")
    given = answer(store, Question("by_time", {"item": "pear"}, since=since, until=until))
    assert [row["start"].minute for row in given] == [15, 16, 17]


def test_rows_are_ordered_by_keys_and_start_with_null_first(store: SQLiteStore) -> None:
    rows = answer(store, Question("by_shop")).rows
    places = [(r[0] is not None, r[0] or "", r[1] is not None, r[1] or 0, r[2]) for r in rows]
    assert places == sorted(places)


def test_a_limit_keeps_the_newest_windows_and_says_so(store: SQLiteStore) -> None:
    whole = answer(store, Question("by_time", {"item": "pear"}))
    part = answer(store, Question("by_time", {"item": "pear"}, limit=5))
    assert part.truncated
    assert part.rows == whole.rows[-5:]
    everything = answer(store, Question("by_time"))
    newest = answer(store, Question("by_time", limit=8))
    starts = sorted((row["start"] for row in everything), reverse=True)[:8]
    assert sorted((row["start"] for row in newest), reverse=True) == starts


@pytest.mark.parametrize("limit", [0, -1, 1_000_001])
def test_a_limit_out_of_bounds_is_refused(store: SQLiteStore, limit: int) -> None:
    with pytest.raises(UsageError, match="expected 1 to 1,000,000"):
        answer(store, Question("total", limit=limit))


def test_arrow_has_the_logical_types_and_the_same_values(store: SQLiteStore) -> None:
    given = answer(store, Question("by_shop"))
    table = given.arrow()
    assert table.schema == pa.schema(
        [
            ("item", pa.string()),
            ("shop", pa.int32()),
            ("start", pa.timestamp("us", tz="UTC")),
            ("end", pa.timestamp("us", tz="UTC")),
            ("orders", pa.int64()),
            ("pieces", pa.decimal128(38, 0)),
            ("turnover", pa.decimal128(38, 2)),
            ("dearest", pa.decimal128(18, 2)),
            ("last", pa.decimal128(18, 2)),
            ("weight", pa.float64()),
        ]
    )
    assert table.to_pylist() == given.dicts()
    assert len(given.pandas()) == len(given)


def test_an_empty_answer_has_the_same_columns(store: SQLiteStore) -> None:
    given = answer(store, Question("by_time", {"item": "none"}))
    assert len(given) == 0
    assert given.arrow().schema == answer(store, Question("by_time")).arrow().schema


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (Question("by_tine"), r"unknown view 'by_tine'[\s\S]*did you mean 'by_time'"),
        (Question("by_time", {"itm": "x"}), r"unknown key 'itm'[\s\S]*did you mean 'item'"),
        (Question("by_time", per="minutes"), r"unknown level 'minutes'[\s\S]*did you mean 'minute'"),
        (Question("by_shop", {"shop": "x"}), r"key 'shop': expected int\n  found 'x'"),
        (Question("by_time", {"item": 5}), "key 'item': expected string\n  found 5"),
        (Question("total", since=0), "one window over all time"),
        (Question("by_time", since=-(10**17)), "out of range"),
    ],
)
def test_a_wrong_question_is_refused_with_what_there_is(store: SQLiteStore, question: Question, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        answer(store, question)


def test_an_unknown_view_is_told_apart_from_other_mistakes(store: SQLiteStore) -> None:
    with pytest.raises(MissingError):
        answer(store, Question("nothing"))


def test_several_questions_are_answered_at_one_cut(store: SQLiteStore, events: list[Event]) -> None:
    given = answers(store, [Question("total"), Question("by_time", per="day"), Question("by_shop")], same_cut=0)
    assert {one.cut for one in given} == {cut_after(events)}


def test_a_view_that_lags_is_named_when_a_common_cut_is_wanted(
    tmp_path: Path, app: tb.App, events: list[Event]
) -> None:
    store = filled(tmp_path, app, events[:60])
    feed(store, app, events[:60], events[60:70], views=["total", "by_shop"])
    questions = [Question("total"), Question("by_time")]
    assert len(answers(store, questions)) == 2
    with pytest.raises(NotReady, match="view 'by_time': it lags"):
        answers(store, questions, same_cut=0.05)
    feed(store, app, events[:60], events[60:70], views=["by_time"])
    assert len({one.cut for one in answers(store, questions, same_cut=0)}) == 1
    store.close()


def test_a_view_whose_chain_is_broken_is_building(tmp_path: Path, app: tb.App, events: list[Event]) -> None:
    store = SQLiteStore(tmp_path, clock=lambda: 0)
    register(store, app)
    feed(store, app, [], events[:10])
    view = app.views["total"]
    fresh = store.add_view("later", "orders", store.versions()[store.aliases()["total"]].definition, "h", view.layout)
    assert fresh.cut == cut_after(events[:10])
    with pytest.raises(NotReady, match="view 'later': it is building"):
        answer(store, Question("later"))
    with pytest.raises(NotReady, match="tarnbeck replay later"):
        answers(store, [Question("later")], same_cut=0.03)
    store.close()


def test_values_are_what_users_expect(store: SQLiteStore) -> None:
    row = answer(store, Question("total", {"item": "pear"})).dicts()[0]
    assert isinstance(row["turnover"], Decimal)
    assert isinstance(row["weight"], float)
    assert answer(store, Question("by_time", {"item": "pear"}, per="hour")).dicts()[0]["start"] == BEGIN


def test_an_answer_holds_new_events_as_soon_as_they_are_committed(
    tmp_path: Path, app: tb.App, events: list[Event]
) -> None:
    store = filled(tmp_path, app, events[:60])
    question = Question("by_time", {"item": "pear"}, per="day")
    first = answer(store, question)
    assert answer(store, question) == first
    feed(store, app, events[:60], events[60:90])
    second = answer(store, question)
    assert found(second, ("item",)) == recount([e for e in events[:90] if e["item"] == "pear"], ("item",), "day")
    assert second.cut == cut_after(events[:90])
    store.close()


def test_who_changes_the_rows_of_an_answer_changes_no_other(store: SQLiteStore) -> None:
    given = answer(store, Question("total", {"item": "plum"}))
    given.rows.clear()
    assert len(answer(store, Question("total", {"item": "plum"}))) == 1


def test_only_so_many_small_answers_are_kept() -> None:
    kept = Memo()
    for number in range(1000):
        kept.keep(number, ([(number,)], False))
    kept.keep("large", ([()] * 10_000, False))
    assert kept.answered("large") is None
    assert kept.answered(0) is None
    assert kept.answered(999) == ([(999,)], False)
    assert sum(kept.answered(number) is not None for number in range(1000)) == 256


def test_a_question_is_quick_when_it_is_for_one_key_and_few_windows(store: SQLiteStore) -> None:
    hour = Question("by_time", {"item": "pear"}, since=NOW - 3_600_000_000)
    assert quick(store, hour, NOW) == answer(store, hour)
    assert quick(store, Question("total", {"item": "pear"}), NOW) is not None
    assert quick(store, Question("total"), NOW) is None
    assert quick(store, Question("by_time", {"item": "pear"}), NOW) is None
    assert quick(store, Question("by_time", {"item": "pear"}, since=0), NOW) is None


def test_a_question_that_reaches_too_many_rows_is_refused(store: SQLiteStore) -> None:
    with store.snapshot() as snapshot, pytest.raises(UsageError, match="reaches more than 5 rows"):
        ask(store, snapshot, Question("by_time"), reach=5)
