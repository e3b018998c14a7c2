"""A shop with rules over its views: orders are committed one by one, time moves when told."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tarnbeck as tb
from tarnbeck.alert.layer import Alerts, Setting
from tarnbeck.log.lines import Line
from tarnbeck.log.produce import Failure, Sent
from tarnbeck.plan.destination import Destination
from tarnbeck.schema.stream import Stream
from tarnbeck.serve.alerts import facts
from tarnbeck.store.sqlite import SQLiteStore
from tarnbeck.testing import ManualClock
from tests.serve.sample import BEGIN, Event, feed, register, shop

UNIX = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
START = (BEGIN - UNIX) // datetime.timedelta(microseconds=1)


@dataclass
class Log:
    """A log that keeps what it is sent, or refuses it."""

    sent: list[dict[str, Any]] = field(default_factory=list)
    broken: bool = False

    def __call__(self, stream: Stream) -> Log:
        return self

    def send_line(self, line: Line) -> None:
        if not self.broken:
            self.sent.append(json.loads(line.value))

    pack_line = send_line

    def pack_table(self, table: object) -> None:
        raise AssertionError("a notice is one event")

    def flush(self) -> Sent:
        return Sent(0, (Failure("timed out", 1, "event 1"),) if self.broken else (), ())


class Watched:
    """The shop of the serving tests with rules, and the layer that looks after them."""

    def __init__(self, folder: Path, declare: Callable[[tb.App], object]) -> None:
        self.app = shop()
        declare(self.app)
        self.clock = ManualClock(START)
        self.store = SQLiteStore(folder / "store", self.clock)
        self.events: list[Event] = []
        self.said: list[str] = []
        self.log = Log()
        self.status: dict[str, Any] = {"parts": [], "views": [], "streams": []}
        register(self.store, self.app)
        self.layer = self.restarted()

    def restarted(self) -> Alerts:
        """The layer as another start of the node makes it."""
        setting = Setting(self.store, self.log, self.clock, lambda: self.status, self.said.append)
        self.layer = Alerts(setting, self.app, first_pause=0.01)
        return self.layer

    def order(self, item: str, pieces: int, minute: float = 0) -> None:
        """Commits one order to all views."""
        moment = BEGIN + datetime.timedelta(minutes=minute)
        place = {"_partition": 0, "_offset": len(self.events), "_index": 0, "_received": moment, "_time": moment}
        values = {"time": moment, "item": item, "shop": 1, "price": None, "weight": None, "pieces": pieces}
        new = [{**place, **values}]
        views = [name for name, view in self.app.views.items() if view.stream.name == "orders"]
        feed(self.store, self.app, self.events, new, views)
        self.events += new

    def tick(self, seconds: int = 1) -> None:
        """Lets so many seconds pass, with a look in each."""
        for _ in range(seconds):
            self.clock.turn("1 second")
            self.layer.tick()

    def told(self) -> list[dict[str, Any]]:
        """Everything that was told so far, the oldest first."""
        return [json.loads(notice.body) for notice in reversed(self.store.alerts.notices(100))]

    def shown(self) -> dict[str, Any]:
        return facts(self.store, 100)


def busy(app: tb.App, to: Destination | tuple[Destination, ...] = (), **options: Any) -> None:
    """A rule over the pieces of a minute."""
    app.alert("busy", app.views["by_time"], **({"when": "pieces > 10", "to": to, "per": "minute"} | options))
