"""A stream derived from another app's: when that grows, nothing is made by an old form, and nothing is lost."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import tarnbeck as tb
from tarnbeck.derive import layer
from tarnbeck.log.broker import Broker
from tarnbeck.log.produce import Sender
from tarnbeck.node import use
from tarnbeck.node.grow import grow
from tarnbeck.node.register import register
from tarnbeck.serve.clock import now
from tarnbeck.store.definitions import used
from tarnbeck.store.sqlite import SQLiteStore
from tests.derive.test_layer import held
from tests.waiting import awaited

pytestmark = pytest.mark.broker

SMALL, LARGE = "time timestamp, n int", "time timestamp, n bigint, kind string"


def shop(topic: str, schema: str) -> tb.App:
    app = tb.App("shop")
    app.stream("orders", schema, time="time", topic=topic, partitions=1)
    return app


def report(folder: Path, name: str) -> tb.App:
    app = tb.App(name)
    app.derive("large", app.use("shop/orders", folder=folder), where="n >= 10")
    return app


def test_it_waits_until_it_has_grown_like_its_source(
    broker: Broker, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    topic, name, log = unique("orders"), f"r{unique('r')[-8:]}", broker.settings
    theirs, ours = (SQLiteStore(tmp_path / app / "store", now) for app in ("shop", "report"))
    register(shop(topic, SMALL), theirs, log)
    register(report(tmp_path / "shop", name), ours, log)

    def send(*events: dict[str, Any]) -> None:
        with Sender(log, shop(topic, LARGE).streams["orders"]) as sender:
            for event in events:
                sender.send(json.dumps({"time": "2026-03-01T00:00:00Z", **event}).encode())

    def made() -> list[Any]:
        return [json.loads(record.value or b"").get("n") for record in held(log, f"{name}.large")]

    def run(reached: Callable[[list[BaseException]], bool]) -> list[str]:
        stop, failures = threading.Event(), list[BaseException]()
        with ThreadPoolExecutor(1) as pool:
            done = pool.submit(layer.run, layer.Setting(log, ours, now, stop, lambda _: None, failures.append))
            try:
                awaited(lambda: reached(failures), "all derived or a failure")
            finally:
                stop.set()
                done.result()
        return [str(failure).splitlines()[0] for failure in failures]

    send({"n": 1}, {"n": 20}, {"n": 2**40})
    assert run(lambda _: made() == [20]) == []
    grow(shop(topic, LARGE), theirs, log)
    send({"n": 2**41, "kind": "new"}, {"n": 30})
    assert "app 'shop' has changed it" in run(lambda failures: bool(failures))[0]
    (state,) = used(ours.streams())
    use.follow(log, ours, state)
    assert "has grown in app 'shop'" in run(lambda failures: bool(failures))[0]
    assert made() == [20]
    again = report(tmp_path / "shop", name)
    assert len(grow(again, ours, log)) == 1
    register(again, ours, log)
    assert run(lambda _: made() == [20, 2**41, 30]) == []
