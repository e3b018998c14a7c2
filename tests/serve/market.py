"""A shop whose store grows order by order, and the server in front of it."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from pathlib import Path

import tarnbeck as tb
from tarnbeck.serve.http import Server, application, serve
from tarnbeck.store.sqlite import SQLiteStore
from tests.serve.sample import BEGIN, NOW, Event, feed, register
from tests.serve.web import Listener

Listen = Callable[..., Listener]


class Shop:
    """A store that grows order by order, and the server in front of it."""

    def __init__(self, folder: Path, app: tb.App) -> None:
        self.folder, self.app = folder, app
        self.store = SQLiteStore(folder / "store", clock=lambda: NOW)
        self.events: list[Event] = []
        register(self.store, app)
        self.server = self.serve(0)

    def serve(self, port: int) -> Server:
        return serve(application(self.store), "127.0.0.1", port)

    def order(self, item: str, minute: int = 0, pieces: int = 1) -> None:
        self.orders([(item, minute, pieces)])

    def orders(self, given: list[tuple[str, int, int]], views: Sequence[str] = ()) -> None:
        """Commits orders to these views, or to all, at once."""
        first = len(self.events)
        new = [_event(first + i, *order) for i, order in enumerate(given)]
        feed(self.store, self.app, self.events, new, views)
        self.events += new

    def many_orders(self) -> None:
        """Things with long names, so that an update is longer than what sockets take in advance."""
        self.orders([(f"item {i} {'x' * 3000}", 0, 1) for i in range(300)], ["total"])


def _event(offset: int, item: str, minute: int, pieces: int) -> Event:
    moment = BEGIN + datetime.timedelta(minutes=minute)
    place = {"_partition": 0, "_offset": offset, "_index": 0, "_received": moment, "_time": moment}
    values = {"time": moment, "item": item, "shop": 1, "price": None, "weight": None, "pieces": pieces}
    return {**place, **values}
