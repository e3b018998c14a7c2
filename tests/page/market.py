"""A market whose trades are a real store behind a real server, for browsers to look at."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import tarnbeck as tb
from tarnbeck.node import versions
from tarnbeck.node.versions import Office
from tarnbeck.serve.http import Server, application, serve
from tarnbeck.store.sqlite import SQLiteStore
from tests.serve.sample import Event, feed, publish, register
from tests.serve.web import TOKEN


class Node:
    """A node of which only the state matters here; tests with a real one are in test_node.py."""

    def __init__(self, market: Market) -> None:
        self._market = market

    def status(self) -> dict[str, Any]:
        count = len(self._market.events)
        lag = {"lag_records": 0, "lag_seconds": 0.0}
        parts = [
            {"part": part, "state": "running", "rate": 0.0, "error": None, **lag}
            for part in ("log", "lake", "speed", "batch", "serving")
        ]
        streams = [{"stream": "trades", "owner": None, "records": count, "lake_records": count, **lag}]
        streams[0] |= {"end": f"0:{count}", "lake_cut": f"0:{count}"}
        views = [
            {
                "view": view,
                "version": version,
                "stream": "trades",
                "state": "answering",
                "cut": f"0:{count}",
                "records": count,
                "generation_records": 0,
                **lag,
            }
            for view, version in self._market.store.aliases().items()
        ]
        found = {"app": "market", "url": "", "parts": parts, "streams": streams, "views": views}
        return found | {"jobs": self._market.jobs}

    def run(self, job: dict[str, Any]) -> Any:
        yield {"result": versions.run(Office(self._market.store), job)}


class Market:
    """Trades of apples and pears, each as it is told."""

    def __init__(self, folder: Path, clock: Any) -> None:
        self.app = tb.App("market")
        trades = self.app.stream(
            "trades", "time timestamp, item string, price decimal(18,2), pieces int", time="time", key="item"
        )
        self.app.view(
            "ohlc",
            trades,
            by="item",
            window=tb.rollup("second", "minute", "hour"),
            select={
                "open": tb.first("price"),
                "high": tb.max("price"),
                "low": tb.min("price"),
                "close": tb.last("price"),
                "trades": tb.count(),
            },
        )
        self.app.view("total", trades, by="item", select={"pieces": tb.sum("pieces"), "trades": tb.count()})
        self.app.table("newest", trades, key="item", select=["price"])
        self.store = SQLiteStore(folder / "store", clock=clock)
        self.events: list[Event] = []
        self.jobs: list[dict[str, Any]] = []
        register(self.store, self.app)
        self.server = self.serve(0)

    def serve(self, port: int) -> Server:
        self.server = serve(application(self.store, control=Node(self), token=TOKEN), "127.0.0.1", port)
        return self.server

    def trade(self, *trades: tuple[datetime.datetime, str, str | None]) -> None:
        """Commits trades, each with its time, item and price."""
        first = len(self.events)
        new = [_event(first + i, *trade) for i, trade in enumerate(trades)]
        feed(self.store, self.app, self.events, new)
        self.events += new

    def batch(self) -> None:
        """Lets the batch layer merge all that there is."""
        publish(self.store, self.app, self.events)

    def close(self) -> None:
        self.server.stop()
        self.store.close()


def _event(offset: int, time: datetime.datetime, item: str, price: str | None) -> Event:
    place = {"_partition": 0, "_offset": offset, "_index": 0, "_received": time, "_time": time}
    return {**place, "time": time, "item": item, "price": None if price is None else Decimal(price), "pieces": 1}
