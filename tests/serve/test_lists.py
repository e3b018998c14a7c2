"""Answers that hold lists are the same by every way to ask."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest

import tarnbeck as tb
from tarnbeck.cli import show
from tarnbeck.errors import UsageError
from tarnbeck.serve.http import application, serve
from tests.serve.sample import NOW, Event, filled


def listed() -> tb.App:
    app = tb.App("lists")
    stream = app.stream(
        "orders", "time timestamp, item string, shop int, price decimal(18,2), weight double, pieces int", time="time"
    )
    select = {
        "dearest": tb.top_k("price", 3),
        "latest": tb.last("time", 2),
        "often": tb.frequent("price", 2),
        "spread": tb.histogram("weight", [0.25, 0.5]),
        "shares": tb.quantiles("price", [0, 1]),
        "usual": tb.mode("shop"),
        "much": tb.any("pieces > 8"),
    }
    app.view("orders", stream, by="item", select=select)
    app.view("slid", stream, window=tb.sliding("20 minutes", every="10 minutes"), select={"n": tb.count()})
    app.view("sessions", stream, by="shop", window=tb.session("10 seconds"), select={"n": tb.count()})
    return app


@pytest.fixture(scope="module")
def place(events: list[Event], tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """The folder of an application, and where its store is served."""
    folder = tmp_path_factory.mktemp("lists")
    store = filled(folder / "store", listed(), events)
    server = serve(application(store, clock=lambda: NOW), "127.0.0.1", 0)
    yield folder, server.url
    server.stop()
    store.close()


def naive(events: list[Event], item: str) -> dict[str, Any]:
    own = [event for event in events if event["item"] == item]
    prices = [event["price"] for event in own if event["price"] is not None]
    weights = [event["weight"] for event in own if event["weight"] is not None]
    shops = [event["shop"] for event in own if event["shop"] is not None]
    return {
        "dearest": sorted(prices, reverse=True)[:3],
        "latest": sorted(event["_time"] for event in own)[-2:],
        "spread": [
            sum(1 for w in weights if w < 0.25),
            sum(1 for w in weights if 0.25 <= w < 0.5),
            sum(1 for w in weights if w >= 0.5),
        ],
        "shares": [float(min(prices)), float(max(prices))],
        "usual": min(set(shops), key=lambda shop: (-shops.count(shop), shop)),
        "much": any((event["pieces"] or 0) > 8 for event in own),
    }


def test_lists_come_typed_over_http_and_from_the_folder(place: tuple[Path, str], events: list[Event]) -> None:
    for where in place:
        with tb.connect(where) as client:
            (row,) = client.query("orders", item="pear").dicts()
        often = row.pop("often")
        assert {name: row[name] for name in naive(events, "pear")} == naive(events, "pear")
        assert all(isinstance(each["value"], Decimal) and each["count"] >= 1 for each in often)


def test_lists_as_json_csv_and_sql(place: tuple[Path, str], events: list[Event]) -> None:
    expected = naive(events, "pear")
    with httpx.Client(base_url=place[1]) as http:
        (row,) = http.get("/views/orders", params={"item": "pear"}).json()["rows"]
        text = http.get("/views/orders", params={"item": "pear"}, headers={"accept": "text/csv"}).text
    assert row["dearest"] == [str(price) for price in expected["dearest"]]
    assert row["often"][0].keys() == {"value", "count"}
    (cells,) = csv.DictReader(io.StringIO(text))
    assert json.loads(cells["spread"]) == row["spread"] == expected["spread"]
    with tb.connect(place[0]) as client:
        found = client.sql("select item, dearest[1] as most, often[1].count as n from orders where item = 'pear'")
        assert found.dicts() == [{"item": "pear", "most": expected["dearest"][0], "n": row["often"][0]["count"]}]
        assert client.sql("select sum(n) as n from slid").dicts() == [{"n": 2 * len(events)}]
        assert client.sql("select sum(n) as n from sessions").dicts() == [{"n": len(events)}]


def test_lists_are_shown_as_text(place: tuple[Path, str]) -> None:
    with tb.connect(place[0]) as client:
        answer = client.query("orders", item="pear")
    texts = [show.plain(value) for value in answer.rows[0]]
    assert json.loads(texts[answer.names.index("often")])[0].keys() == {"value", "count"}


def test_a_range_of_sliding_windows_and_sessions_is_of_whole_ones(place: tuple[Path, str]) -> None:
    with tb.connect(place[0]) as client:
        for view in ("slid", "sessions"):
            whole = client.query(view).dicts()
            middle = whole[len(whole) // 2]
            since, until = middle["start"] + (middle["end"] - middle["start"]) / 2, middle["end"]
            part = client.query(view, since=since, until=until).dicts()
            assert part == [row for row in whole if row["end"] > since and row["start"] < until]
            assert 0 < len(part) < len(whole)


def test_lists_have_no_greatest_one(place: tuple[Path, str]) -> None:
    for where in place:
        with tb.connect(where) as client, pytest.raises(UsageError, match="expected a single value"):
            client.query("orders", top="often")
