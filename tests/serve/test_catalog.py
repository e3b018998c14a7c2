"""What views are told to be, for those who choose how to show them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tarnbeck as tb
from tarnbeck.algebra.aggregate import Aggregate
from tarnbeck.serve import catalog
from tarnbeck.store.sqlite import SQLiteStore
from tests.serve.sample import NOW, register


@pytest.fixture
def described(tmp_path: Path) -> dict[str, dict[str, Any]]:
    app = tb.App("market")
    prices = app.stream("prices", "time timestamp, currency string, price decimal(18,2)", time="time")
    candle: dict[str, Aggregate | str] = {
        "open": tb.first("price"),
        "high": tb.max("price"),
        "low": tb.min("price"),
        "close": tb.last("price"),
        "width": "high - low",
    }
    app.view("ohlc", prices, by="currency", window=tb.rollup("minute"), select=candle)
    latest = app.table("latest", prices, key="currency")
    app.view("dearest", latest, select={"price": tb.max("price")})
    store = SQLiteStore(tmp_path, clock=lambda: NOW)
    register(store, app)
    found = {
        view["view"]: {each["name"]: each["aggregate"] for each in view["outputs"]} for view in catalog.views(store)
    }
    store.close()
    return found


def test_each_output_tells_its_aggregate(described: dict[str, dict[str, Any]]) -> None:
    assert described["ohlc"] == {"open": "first", "high": "max", "low": "min", "close": "last", "width": None}


def test_columns_of_a_table_are_no_aggregates_but_those_of_a_view_over_it_are(
    described: dict[str, dict[str, Any]],
) -> None:
    assert set(described["latest"].values()) == {None}
    assert described["dearest"] == {"price": "max"}
