"""The same states, asked about values and for bounds: in Python and over HTTP, and wrong questions are refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

import tarnbeck as tb
from tarnbeck.algebra.aggregate import Aggregate
from tarnbeck.errors import DeclarationError, UsageError
from tarnbeck.plan.definition import identity
from tarnbeck.serve import shape, sql
from tarnbeck.serve.answer import Question, answer
from tarnbeck.serve.shape import Shape
from tarnbeck.store.sqlite import SQLiteStore
from tests.serve.sample import NOW, Event, filled
from tests.serve.web import Call


def shops() -> tb.App:
    app = tb.App("shops")
    stream = app.stream(
        "orders", "time timestamp, item string, shop int, price decimal(18,2), weight double, pieces int", time="time"
    )
    select: dict[str, Aggregate | str] = {
        "items": tb.frequency("item"),
        "prices": tb.seen("price"),
        "middle": tb.quantile("weight"),
        "shops": tb.uniques("shop"),
        "often": tb.frequent("item", 3),
        "dear": tb.members("shop", where="price > 50"),
        "light": tb.members("shop", where="weight < 5"),
        "both": tb.intersection("dear", "light"),
        "either": tb.union("dear", "light"),
        "dear_only": tb.difference("dear", "light"),
        "half": "both / 2",
        "some": tb.sample_events(3, ["item", "price"]),
    }
    app.view("all", stream, select=select)
    app.view("slid", stream, by="item", window=tb.sliding("10 minutes", every="4 minutes"), select=select)
    return app


@pytest.fixture(scope="module")
def sold(events: list[Event], tmp_path_factory: pytest.TempPathFactory) -> Iterator[SQLiteStore]:
    opened = filled(tmp_path_factory.mktemp("shops") / "store", shops(), events)
    yield opened
    opened.close()


def row(store: SQLiteStore, wanted: Shape) -> dict[str, Any]:
    (found,) = answer(store, Question("all", shape=wanted)).dicts()
    return found


def test_how_often_and_whether_at_all_of_values_named_when_asking(sold: SQLiteStore, events: list[Event]) -> None:
    counts = Counter(event["item"] for event in events if event["item"] is not None)
    assert row(sold, Shape())["items"] == counts.total()
    for item, count in counts.items():
        assert row(sold, shape.read(None, None, ask={"items": item}))["items"] == count
    assert row(sold, shape.read(None, None, ask={"items": "never sold"}))["items"] == 0
    prices = {event["price"] for event in events} - {None}
    assert row(sold, Shape())["prices"] is None
    for price in sorted(prices)[:20]:
        assert row(sold, shape.read(None, None, ask={"prices": price}))["prices"] is True
    assert row(sold, shape.read(None, None, ask={"prices": "-1"}))["prices"] is False


def test_another_share_of_a_quantile(sold: SQLiteStore, events: list[Event]) -> None:
    weights = [event["weight"] for event in events if event["weight"] is not None]
    for share in (0.1, 0.5, 0.9):
        found = row(sold, shape.read(None, None, ask={"middle": share}))["middle"]
        assert abs(sum(1 for weight in weights if weight <= found) / len(weights) - share) <= 0.04


def test_sets_and_what_is_made_of_them(sold: SQLiteStore, events: list[Event]) -> None:
    dear = {e["shop"] for e in events if e["price"] is not None and e["price"] > 50} - {None}
    light = {e["shop"] for e in events if e["weight"] is not None and e["weight"] < 5} - {None}
    found = row(sold, Shape())
    assert (found["dear"], found["light"]) == (len(dear), len(light))
    assert found["both"] == len(dear & light)
    assert found["either"] == len(dear | light)
    assert found["dear_only"] == len(dear - light)
    assert found["half"] == len(dear & light) / 2


def test_two_ranges_are_compared_with_bounds_and_about_a_value(sold: SQLiteStore) -> None:
    wanted = shape.read("", None, ask={"items": "pear"}, bounds=True)
    since, against = NOW - 1_200_000_000, NOW - 3_600_000_000
    (both,) = answer(sold, Question("slid", since=since, against=against, shape=wanted)).dicts()
    for begin, suffix in ((since, ""), (against, "_against")):
        alone = shape.read("", "all", ask={"items": "pear"}, bounds=True)
        (one,) = answer(sold, Question("slid", since=begin, shape=alone)).dicts()
        # A quantile sketch draws lots when it merges.
        exact = [name for name in one if not name.startswith("middle")]
        assert {name: both[name + suffix] for name in exact} == {name: one[name] for name in exact}
    assert both["shops_low"] <= both["shops_high_against"]
    nobody = Question("slid", {"item": "none"}, since=since, against=against, shape=wanted)
    assert answer(sold, nobody).names == (*one, *(name + "_against" for name in one))
    with pytest.raises(UsageError, match="unknown output 'colour'"):
        answer(
            sold, Question("slid", since=since, against=against, shape=shape.read(None, None, ask={"colour": "red"}))
        )


def test_bounds_hold_what_they_bound(sold: SQLiteStore) -> None:
    found = row(sold, shape.read(None, None, bounds=True))
    for name in ("middle", "shops", "dear", "light", "both", "either", "dear_only"):
        assert found[f"{name}_low"] <= found[name] <= found[f"{name}_high"]
    counts = [each["count"] for each in found["often"]]
    assert all(low <= n <= high for low, n, high in zip(found["often_low"], counts, found["often_high"], strict=True))
    assert "items_low" not in found
    asked = row(sold, shape.read(None, None, ask={"items": "pear"}, bounds=True))
    assert asked["items_low"] <= asked["items"] == asked["items_high"]


def test_in_sql_a_view_as_a_function_takes_both(sold: SQLiteStore, events: list[Event]) -> None:
    found = sql.query(sold, "select items, shops_low, shops_high from all(ask => 'items=pear', bounds => true)").dicts()
    (one,) = found
    assert one["items"] == sum(1 for event in events if event["item"] == "pear")
    assert one["shops_low"] <= len({event["shop"] for event in events} - {None}) <= one["shops_high"]


def test_a_sample_of_events_holds_events(sold: SQLiteStore, events: list[Event]) -> None:
    there = [{"item": event["item"], "price": event["price"]} for event in events]
    some = row(sold, Shape())["some"]
    assert len(some) == 3
    assert all(each in there for each in some)


def test_windows_that_are_put_together_can_be_asked(sold: SQLiteStore) -> None:
    stored = answer(sold, Question("slid")).dicts()
    bounded = answer(sold, Question("slid", shape=shape.read(None, None, bounds=True))).dicts()
    assert [{name: each[name] for name in stored[0]} for each in bounded] == stored


def test_over_http(sold: SQLiteStore, call: Call) -> None:
    assert call("GET", "/views/by_time?bounds=true").status == 200
    wrong = call("GET", "/views/by_time?ask=orders=1")
    assert wrong.json["error"]["message"].startswith("view 'by_time': ask: unknown output 'orders'")
    assert call("GET", "/views/by_time?ask=orders").status == 400


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        ({"shops": "1"}, "view 'all': ask: unknown output 'shops'"),
        ({"middle": "2"}, "bad share 2.0"),
        ({"middle": "much"}, "expected double"),
        ({"prices": "1.234"}, r"expected decimal\(18,2\)"),
    ],
)
def test_wrong_questions_are_refused(sold: SQLiteStore, ask: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        row(sold, shape.read(None, None, ask=ask))


def test_a_definition_that_is_read_back_is_the_same() -> None:
    app = shops()
    again = tb.App.of(app.definition())
    assert {name: identity(view) for name, view in again.views.items()} == {
        name: identity(view) for name, view in app.views.items()
    }


@pytest.mark.parametrize(
    ("select", "message"),
    [
        ({"n": tb.count(), "both": tb.intersection("n", "m")}, "intersection('n', 'm'): unknown set 'n'"),
        ({"a": tb.members("x"), "b": tb.union("a", "a", where="x > 0")}, "union('a', 'a'): it takes no where"),
        ({"a": tb.seen("x", 10**8, 1e-9)}, "larger than 1 MiB"),
        ({"a": tb.frequency("x", error=2.0)}, "bad error 2.0"),
        ({"a": tb.sample_events(0)}, "bad k 0"),
        ({"a": tb.sample_events(5, "x")}, "bad of 'x'"),
    ],
)
def test_wrong_declarations_are_refused(select: dict[str, Any], message: str) -> None:
    app = tb.App("wrong")
    stream = app.stream("numbers", "time timestamp, x int", time="time")
    with pytest.raises(DeclarationError) as wrong:
        app.view("all", stream, select=select)
    assert message in str(wrong.value)
