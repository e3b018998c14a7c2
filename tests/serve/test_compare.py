"""Two ranges of a view side by side: what each gives alone, at one cut, by every way to ask."""

from __future__ import annotations

import datetime
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import tarnbeck as tb
from tarnbeck.errors import UsageError
from tarnbeck.serve import shape, sql
from tarnbeck.serve.answer import Question, answer
from tarnbeck.serve.http import Server
from tarnbeck.serve.shape import Shape
from tarnbeck.store.sqlite import SQLiteStore
from tests.serve.sample import BEGIN, NOW, Event, cut_after, filled
from tests.serve.web import Call

MINUTE = 60_000_000
ENOUGH = "2026-03-01T11:00:00Z"


def counted(events: list[Event], minutes: int) -> dict[Any, tuple[int, int]]:
    """Orders and pieces of each item in the last so many minutes of the hour."""
    begin = BEGIN + datetime.timedelta(minutes=60 - minutes)
    found: dict[Any, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for event in events:
        if event["_time"] >= begin:
            orders, pieces = found[event["item"]]
            found[event["item"]] = orders + 1, pieces + (event["pieces"] or 0)
    return found


def compared(store: SQLiteStore, wanted: Shape, near: int = 10, far: int = 60, **more: Any) -> list[dict[str, Any]]:
    question = Question("by_time", since=NOW - near * MINUTE, against=NOW - far * MINUTE, shape=wanted, **more)
    return answer(store, question).dicts()


def test_each_key_has_the_values_of_both_ranges(store: SQLiteStore, events: list[Event]) -> None:
    near, far = counted(events, 10), counted(events, 60)
    found = compared(store, Shape())
    assert {
        row["item"]: (row["orders"], row["pieces"], row["orders_against"], row["pieces_against"]) for row in found
    } == {item: (*near[item], *far[item]) for item in far}
    assert "start" not in found[0]
    turned = compared(store, Shape(), 60, 10)
    assert [row["orders"] for row in turned] == [row["orders_against"] for row in found]


def test_coarser_keys_conditions_and_the_greatest_first(store: SQLiteStore, events: list[Event]) -> None:
    (together,) = compared(store, shape.read("", None))
    assert (together["orders"], together["orders_against"]) == (
        sum(orders for orders, _ in counted(events, 10).values()),
        len(events),
    )
    near, far = counted(events, 10), counted(events, 60)
    busy = [item for item in far if near[item][0] * 6 > far[item][0]]
    found = compared(store, shape.read(None, None, having="orders * 6 > orders_against", top="orders_against"))
    assert {row["item"] for row in found} == set(busy)
    counts = [row["orders_against"] for row in found]
    assert counts == sorted(counts, reverse=True)
    assert len(compared(store, Shape(), limit=1)) == 1


def test_a_key_that_one_range_lacks_has_what_no_events_give(tmp_path: Path, app: tb.App, events: list[Event]) -> None:
    half = BEGIN + datetime.timedelta(minutes=30)
    early = [event for event in events if event["item"] != "pear" or event["_time"] < half]
    store = filled(tmp_path, app, renumbered(early))
    (pear,) = compared(store, Shape(), keys={"item": "pear"})
    assert (pear["orders"], pear["pieces"], pear["weight"]) == (0, None, None)
    assert pear["orders_against"] == counted(early, 60)["pear"][0]
    store.close()


def test_exact_sums_are_compared_with_multiples_of_each_other(store: SQLiteStore) -> None:
    rows = compared(store, Shape())
    several = [row for row in rows if row["turnover"] * 6 > row["turnover_against"]]
    assert compared(store, shape.read(None, None, having="turnover * 6 > turnover_against")) == several
    least = [row for row in rows if row["turnover_against"] > 3 * row["turnover"]]
    assert compared(store, shape.read(None, None, having="turnover_against - turnover > 2 * turnover")) == least
    assert compared(store, shape.read(None, None, having="-turnover < 0.5")) == rows


def renumbered(events: list[Event]) -> list[Event]:
    offsets = [0, 0]
    found = []
    for event in events:
        found.append(event | {"_offset": offsets[event["_partition"]]})
        offsets[event["_partition"]] += 1
    return found


def test_every_way_to_ask_gives_the_same(server: Server, call: Call, store: SQLiteStore, events: list[Event]) -> None:
    """The server's clock stands at the end of the hour; SQL and a folder are told until when."""
    expected = compared(store, Shape())
    with tb.connect(server.url) as remote:
        found = remote.query("by_time", last="10m", against="1h")
    assert found.dicts() == expected
    assert (found.since, found.against, found.cut) == (NOW - 10 * MINUTE, NOW - 60 * MINUTE, cut_after(events))
    reply = call("GET", "/views/by_time?last=10m&against=1h")
    assert [row["orders_against"] for row in reply.json["rows"]] == [row["orders_against"] for row in expected]
    assert reply.json["against"] == "2026-03-01T10:00:00Z"
    called = f"select * from by_time(last => '10 minutes', against => '1 hour', until => '{ENOUGH}')"  # noqa: S608
    assert sql.query(store, called).dicts() == expected
    joined = (
        f"select f.item, n.orders, f.orders as orders_against from by_time(last => '1 h', until => '{ENOUGH}', "  # noqa: S608
        f"every => 'all') f left join by_time(last => '10 m', until => '{ENOUGH}', every => 'all') n "
        "on f.item is not distinct from n.item order by f.item nulls first"
    )
    assert sql.query(store, joined).dicts() == [
        {name: row[name] for name in ("item", "orders", "orders_against")} for row in expected
    ]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("by_time?against=1d", "'against' is given without 'last'"),
        ("by_time?last=1h&against=soon", "bad duration 'soon'"),
        ("by_time?last=1h&against=1d&every=1h&fill=true", "leave out: every, fill"),
        ("total?last=1h&against=1d", "one window over all time"),
    ],
)
def test_what_can_not_be_compared_is_refused(call: Call, path: str, message: str) -> None:
    reply = call("GET", f"/views/{path}")
    assert reply.status == 400
    assert message in reply.error


def test_a_column_that_is_named_like_the_other_range_is_refused(tmp_path: Path, events: list[Event]) -> None:
    app = tb.App("shop")
    stream = app.stream("orders", "time timestamp, item string", time="time")
    select = {"n": tb.count(), "n_against": tb.count()}
    app.view("by_time", stream, window=tb.tumbling("1 minute"), select=select)
    store = filled(tmp_path, app, events)
    with pytest.raises(UsageError, match="'n_against' of its own"):
        compared(store, Shape())
    store.close()
