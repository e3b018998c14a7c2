"""Answers coarser than what is stored equal what a view declared that way would answer."""

from __future__ import annotations

import datetime
import itertools
from collections import defaultdict
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

import tarnbeck as tb
from tarnbeck.errors import UsageError
from tarnbeck.serve import shape
from tarnbeck.serve.answer import Question, answer
from tarnbeck.serve.http import Server
from tarnbeck.serve.moment import micros
from tarnbeck.serve.shape import Shape
from tarnbeck.store.sqlite import SQLiteStore
from tests.serve.sample import BEGIN, Event, filled
from tests.serve.web import Call

MINUTE = datetime.timedelta(minutes=1)


def sites() -> tb.App:
    app = tb.App("sites")
    stream = app.stream(
        "orders", "time timestamp, item string, shop int, price decimal(18,2), weight double, pieces int", time="time"
    )
    select = {"n": tb.count(), "pieces": tb.sum("pieces"), "shops": tb.uniques("shop"), "prices": tb.distinct("price")}
    app.view("minutes", stream, by=("item", "shop"), window=tb.tumbling("1 minute"), select=select)
    app.view("slid", stream, by="item", window=tb.sliding("10 minutes", every="4 minutes"), select=select)
    app.view("sessions", stream, by=("item", "shop"), window=tb.session("45 seconds"), select=select)
    app.view("total", stream, by=("item", "shop"), select=select)
    return app


@pytest.fixture(scope="module")
def sold(events: list[Event], tmp_path_factory: pytest.TempPathFactory) -> Iterator[SQLiteStore]:
    opened = filled(tmp_path_factory.mktemp("sites") / "store", sites(), events)
    yield opened
    opened.close()


def summary(group: list[Event]) -> dict[str, Any]:
    pieces = [event["pieces"] for event in group if event["pieces"] is not None]
    return {
        "n": len(group),
        "pieces": sum(pieces) if pieces else None,
        "shops": len({event["shop"] for event in group} - {None}),
        "prices": len({event["price"] for event in group} - {None}),
    }


def floor(moment: datetime.datetime, length: datetime.timedelta) -> datetime.datetime:
    return BEGIN + (moment - BEGIN) // length * length


def rows(store: SQLiteStore, view: str, wanted: Shape, **more: Any) -> list[dict[str, Any]]:
    return answer(store, Question(view, shape=wanted, **more)).dicts()


def test_all_keys_together_and_longer_windows(sold: SQLiteStore, events: list[Event]) -> None:
    length = datetime.timedelta(minutes=15)
    groups: dict[datetime.datetime, list[Event]] = defaultdict(list)
    for event in events:
        groups[floor(event["_time"], length)].append(event)
    expected = [{"start": at, "end": at + length, **summary(group)} for at, group in sorted(groups.items())]
    assert rows(sold, "minutes", shape.read("", "15 minutes")) == expected


def test_a_coarser_key_by_an_expression(sold: SQLiteStore, events: list[Event]) -> None:
    groups: dict[Any, list[Event]] = defaultdict(list)
    for event in events:
        groups[event["item"] and event["item"][:1]].append(event)
    found = rows(sold, "total", shape.read({"letter": "left(item, 1)"}, None))
    assert {row.pop("letter"): row for row in found} == {letter: summary(group) for letter, group in groups.items()}


def test_a_condition_on_keys_needs_a_name(sold: SQLiteStore, events: list[Event]) -> None:
    found = rows(sold, "total", shape.read("ripe=item = 'pear'", None))
    counts = {row["ripe"]: row["n"] for row in found}
    items = [event["item"] for event in events]
    assert counts == {
        None: items.count(None),
        True: items.count("pear"),
        False: len(items) - items.count(None) - items.count("pear"),
    }


def test_some_of_the_keys_of_one_value_of_another(sold: SQLiteStore, events: list[Event]) -> None:
    groups: dict[Any, list[Event]] = defaultdict(list)
    for event in events:
        if event["shop"] == 1:
            groups[event["item"]].append(event)
    found = rows(sold, "total", shape.read("item", None), keys={"shop": 1})
    assert {row.pop("item"): row for row in found} == {item: summary(group) for item, group in groups.items()}


def test_windows_that_are_put_together_take_coarser_keys_too(sold: SQLiteStore, events: list[Event]) -> None:
    (first, *_) = found = rows(sold, "slid", shape.read("", None))
    inside = [event for event in events if first["start"] <= event["_time"] < first["end"]]
    assert {name: first[name] for name in ("n", "pieces", "shops", "prices")} == summary(inside)
    assert all(b["start"] - a["start"] == 4 * MINUTE for a, b in itertools.pairwise(found))
    moments = sorted(event["_time"] for event in events)
    breaks = sum(1 for a, b in itertools.pairwise(moments) if b - a > 0.75 * MINUTE)
    assert len(rows(sold, "sessions", shape.read("", None))) == breaks + 1


@pytest.mark.parametrize(("view", "length"), [("minutes", MINUTE), ("slid", 2 * MINUTE), ("sessions", 0.75 * MINUTE)])
def test_a_range_as_one_window_holds_the_panes_that_overlap_it(
    sold: SQLiteStore, events: list[Event], view: str, length: datetime.timedelta
) -> None:
    since, until = BEGIN + 20.2 * MINUTE, BEGIN + 30.1 * MINUTE
    first, last = floor(since, length), floor(until, length) + length
    inside = [event for event in events if first <= event["_time"] < last]
    found = rows(sold, view, shape.read("", "all"), since=micros(since), until=micros(until))
    assert found == [summary(inside)]
    assert rows(sold, view, shape.read("", "all")) == [summary(events)]


def test_a_range_of_longer_windows_holds_whole_ones_only(sold: SQLiteStore) -> None:
    whole = rows(sold, "minutes", shape.read("", "15 minutes"))
    since = micros(BEGIN + 20 * MINUTE)
    part = rows(sold, "minutes", shape.read("", "15 minutes"), since=since, until=since + 1)
    assert part == [row for row in whole if row["start"] == BEGIN + 15 * MINUTE]


def test_gaps_are_filled_with_what_no_events_give(sold: SQLiteStore) -> None:
    stored = rows(sold, "minutes", Shape(), keys={"item": "pear", "shop": 1})
    filled_up = rows(sold, "minutes", shape.read(None, None, fill=True), keys={"item": "pear", "shop": 1})
    known = {row["start"]: row for row in stored}
    assert len(stored) < len(filled_up)
    assert [row["start"] for row in filled_up] == [
        stored[0]["start"] + i * MINUTE for i in range(int((stored[-1]["start"] - stored[0]["start"]) / MINUTE) + 1)
    ]
    nothing = {"n": 0, "pieces": None, "shops": 0, "prices": 0}
    for row in filled_up:
        expected = known.get(row["start"], row | nothing)
        assert row == expected


def test_named_keys_are_filled_without_any_event(sold: SQLiteStore) -> None:
    since, until = micros(BEGIN - 3 * MINUTE), micros(BEGIN)
    starts = [BEGIN - i * MINUTE for i in (3, 2, 1)]
    wanted, span = shape.read(None, None, fill=True), {"since": since, "until": until}
    named = rows(sold, "minutes", wanted, keys={"item": ["pear", "none"], "shop": 1}, **span)
    assert [(row["item"], row["start"]) for row in named] == [(item, at) for item in ("none", "pear") for at in starts]
    assert all((row["n"], row["pieces"], row["shop"]) == (0, None, 1) for row in named)
    assert [row["start"] for row in rows(sold, "minutes", shape.read("", None, fill=True), **span)] == starts
    upper = shape.read({"name": "upper(item)"}, "3 minutes", fill=True)
    assert [row["name"] for row in rows(sold, "minutes", upper, keys={"item": "pear"}, **span)] == ["PEAR"]
    assert rows(sold, "minutes", wanted, keys={"item": "pear"}, **span) == []
    assert rows(sold, "minutes", wanted, keys={"item": "none", "shop": 1}, since=since) == []
    both = rows(sold, "minutes", wanted, keys={"item": ["pear", "none"], "shop": 1})
    assert [row["n"] for row in both[: len(both) // 2]] == [0] * (len(both) // 2)


def test_totals_so_far(sold: SQLiteStore, events: list[Event]) -> None:
    for row in rows(sold, "minutes", shape.read("", "5 minutes", cumulative=True)):
        so_far = [event for event in events if event["_time"] < row["end"]]
        assert {name: row[name] for name in ("n", "pieces", "shops", "prices")} == summary(so_far)


def test_totals_begin_with_the_range_and_count_each_event_of_a_session_once(
    sold: SQLiteStore, events: list[Event]
) -> None:
    since = BEGIN + 20 * MINUTE
    wanted = shape.read("", "5 minutes", cumulative=True)
    for row in rows(sold, "minutes", wanted, since=micros(since)):
        so_far = [event for event in events if since <= event["_time"] < row["end"]]
        assert {name: row[name] for name in ("n", "pieces", "shops", "prices")} == summary(so_far)
    *_, last = rows(sold, "sessions", shape.read("", None, cumulative=True))
    assert last["n"] == len(events)


def test_only_rows_that_a_condition_holds_for_the_greatest_first(sold: SQLiteStore) -> None:
    every = rows(sold, "minutes", shape.read("item", None))
    wanted = sorted((row for row in every if row["n"] > 3), key=lambda row: -row["n"])
    given = answer(sold, Question("minutes", shape=shape.read("item", None, having="n > 3", top="n"), limit=5))
    assert [row["n"] for row in given] == [row["n"] for row in wanted[:5]]
    assert given.truncated


@pytest.mark.parametrize(
    ("view", "wanted", "message"),
    [
        ("minutes", {"by": "colour", "every": None}, "unknown column 'colour'"),
        ("minutes", {"by": {"n": "item"}, "every": None}, "bad name 'n'"),
        ("minutes", {"by": ["item || 'x'"], "every": None}, "bad name"),
        ("minutes", {"by": "item = 'b'", "every": None}, "uses no key.*\n.*condition: NAME=item = 'b'"),
        ("minutes", {"by": "shop = item", "every": None}, "'shop' is a key, but.*\n.*condition: NAME=shop = item"),
        ("minutes", {"by": {"one": "1"}, "every": None}, "one=1: it uses no key\n"),
        ("minutes", {"by": ["item", "item=upper(item)"], "every": None}, "'item' is named twice"),
        ("minutes", {"by": None, "every": "90 seconds"}, "multiple of '1 minute'"),
        ("minutes", {"by": None, "every": "soon"}, "bad duration"),
        ("slid", {"by": None, "every": "1 hour"}, "can't be put together"),
        ("total", {"by": None, "every": None, "fill": True}, "not side by side"),
        ("minutes", {"by": None, "every": "all", "fill": True}, "not side by side"),
        ("slid", {"by": None, "every": None, "cumulative": True}, "count an event once for each"),
        ("minutes", {"by": None, "every": None, "having": "n"}, "expected boolean"),
        ("minutes", {"by": None, "every": None, "having": "m > 1"}, "unknown column 'm'"),
        ("minutes", {"by": None, "every": None, "top": "m"}, "unknown column 'm'"),
    ],
)
def test_what_can_not_be_is_refused(sold: SQLiteStore, view: str, wanted: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        rows(sold, view, shape.read(**wanted))


def test_every_way_to_ask_gives_the_same(server: Server, call: Call) -> None:
    """The server's store is of the same events, with other views."""
    wanted: dict[str, Any] = {"by": {"letter": "left(item, 1)"}, "every": "30 minutes", "having": "orders > 2"}
    wanted |= {"top": "orders", "fill": True, "cumulative": True}
    with tb.connect(server.url) as remote:
        found = remote.query("by_shop", **wanted)
    path = urlencode([("by", "letter=left(item, 1)"), *((n, str(v).lower()) for n, v in wanted.items() if n != "by")])
    reply = call("GET", f"/views/by_shop?{path}")
    assert reply.status == 200
    assert [row["orders"] for row in reply.json["rows"]] == [row["orders"] for row in found]
    assert len(found) > 3
    assert call("GET", "/views/by_shop?fill=maybe").status == 400
