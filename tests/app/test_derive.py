"""Derived streams as they are declared, and what they hold in memory."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

import tarnbeck as tb
from tarnbeck.errors import DeclarationError, UsageError
from tarnbeck.log.produce import Sender
from tarnbeck.log.settings import LogSettings
from tarnbeck.plan.definition import identity
from tarnbeck.testing import run

START = datetime(2026, 3, 1, tzinfo=UTC)
SCHEMA = "time timestamp, item string, price decimal(10,2), tags array<string>, more struct<a int, b map<string,int>>"


def shop() -> tuple[tb.App, tb.Stream]:
    app = tb.App("shop")
    return app, app.stream("orders", SCHEMA, time="time", key="item")


def order(price: str | None, **more: Any) -> dict[str, Any]:
    return {"time": START, "item": "tea", "price": price and float(price), **more}


EVENTS = [
    order("4.50", tags=["a", "b"]),
    order("12.00", more={"a": 1, "b": {"x": 2}}),
    order(None),
    order("20.25"),
]


def test_a_derived_stream_holds_what_passes_with_the_columns_that_were_chosen() -> None:
    app, orders = shop()
    dear = app.derive(
        "dear", orders, where="price > 10", select={"time": "time", "what": "upper(item)", "twice": "price * 2"}
    )
    app.view("all", dear, by="what", select={"n": tb.count(), "total": tb.sum("twice")})
    (row,) = run(app, EVENTS)["all"]
    assert (row["what"], row["n"], str(row["total"])) == ("TEA", 2, "64.50")


def test_without_select_all_columns_go_through_as_they_are() -> None:
    app, orders = shop()
    copy = app.derive("copy", orders)
    select = {"n": tb.count(), "tags": tb.max("tags[1]"), "b": tb.max("more.b['x']"), "total": tb.sum("price")}
    app.view("first", orders, select=select)
    app.view("second", copy, select=select)
    found = run(app, EVENTS)
    assert found["first"] == found["second"]


def test_late_events_go_to_a_stream_of_their_own_and_are_counted_once() -> None:
    app, orders = shop()
    app.view("timely", orders, late="to late_orders after 1 hour", select={"n": tb.count()})
    app.view("also", orders, late="to late_orders after 1 hour", select={"n": tb.count()})
    app.view("late", app.streams["late_orders"], select={"n": tb.count()})
    events = [order("1.00"), {**order("2.00"), "time": START.replace(month=2)}]
    found = run(app, events, received=START)
    assert [found[view] for view in ("timely", "also", "late")] == [[{"n": 1}]] * 3


def test_a_definition_that_is_read_back_is_the_same() -> None:
    app, orders = shop()
    dear = app.derive("dear", orders, where="price > 10", select=["time", "item"], late="2 hours")
    app.view("all", dear, select={"n": tb.count()})
    again = tb.App.of(app.definition())
    assert again.streams == app.streams
    assert identity(again.views["all"]) == identity(app.views["all"])


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda app, s: app.derive("x", s, where="price"), "stream 'x': 'price': expected boolean"),
        (lambda app, s: app.derive("x", s, select=["item"]), "stream 'x': it has no event time"),
        (lambda app, s: app.derive("x", s, select=[]), "stream 'x': select is empty"),
        (lambda app, s: app.derive("x", s, select=["prise"]), "unknown column 'prise'"),
        (lambda app, s: app.derive("x", s, late="soon"), "stream 'x': late='soon': bad duration"),
        (lambda app, s: app.derive("orders", s), "stream 'orders': declared twice"),
        (lambda app, s: app.view("v", s, late="to orders after 1h", select={"n": tb.count()}), "is another one"),
        (lambda app, s: app.view("v", s, late="to x", select={"n": tb.count()}), "expected such as"),
        (lambda app, s: tb.App("other").derive("x", s), "not a stream of app 'other'"),
    ],
)
def test_wrong_declarations_are_refused(declare: Any, message: str) -> None:
    with pytest.raises(DeclarationError) as wrong:
        declare(*shop())
    assert message in str(wrong.value)


def test_nothing_can_be_sent_to_a_derived_stream() -> None:
    app, orders = shop()
    copy = app.derive("copy", orders)
    with pytest.raises(UsageError, match="stream 'copy' is derived from 'orders'"):
        Sender(LogSettings("127.0.0.1:9"), copy)
