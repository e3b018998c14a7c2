"""Two apps and one stream: the second reads topic and lake of the first, counts the same, and writes nothing there."""

from __future__ import annotations

import json
import random
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import tarnbeck as tb
from tarnbeck.errors import DeclarationError, LogError, StoreError, UsageError
from tarnbeck.log.broker import Broker
from tarnbeck.log.settings import LogSettings
from tarnbeck.node import use
from tarnbeck.node.desk import Desk
from tarnbeck.node.grow import grow
from tarnbeck.node.register import register
from tarnbeck.speed import layer as speed
from tarnbeck.store.definitions import stream_of, used
from tests.e2e.rig import Rig, values
from tests.e2e.test_hole import delete_below
from tests.e2e.test_interleavings import SCHEMA, SELECTS
from tests.e2e.test_kappa import job
from tests.waiting import awaited

pytestmark = [pytest.mark.spark, pytest.mark.broker]


def owner(topic: str, schema: str = SCHEMA) -> tb.App:
    app = tb.App("bitcoin")
    events = app.stream("events", schema, time="time", topic=topic, partitions=1)
    app.view("levels", events, by="k", window=tb.rollup("minute", "hour"), select=SELECTS[0])
    return app


def user(folder: Path) -> tb.App:
    app = tb.App("report")
    events = app.use("bitcoin/events", name="theirs", folder=folder)
    app.view("levels", events, by="k", window=tb.rollup("minute", "hour"), select=SELECTS[0])
    app.view("closing", events, by="k", window=tb.tumbling("7 hours"), select=SELECTS[1])
    return app


def held(rig: Rig) -> tuple[list[str], list[str], str]:
    """Every file of the lake, every row of the catalog, and the end of the log."""
    files = sorted(str(path) for path in Path(rig.root).rglob("*") if path.is_file())
    with sqlite3.connect(rig.folder / "store" / "catalog.db") as con:
        rows = list(con.iterdump())
    con.close()
    return files, rows, str(rig.ends())


def follow(rig: Rig) -> None:
    store = rig.store
    for state in used(store.streams()):
        use.follow(rig.log, store, state)


class Live:
    """The speed layer while a test goes on, with what it told of failures."""

    def __init__(self, rig: Rig) -> None:
        self.stop, self.failures = threading.Event(), list[BaseException]()
        self.pool = ThreadPoolExecutor(1)
        given = (rig.spark, rig.log, rig.store, rig.folder, self.stop)
        self.done = self.pool.submit(speed.run, *given, told=lambda _: None, failed=self.failures.append)

    def __enter__(self) -> list[BaseException]:
        return self.failures

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self.done.result()
        self.pool.shutdown()


def at_the_end(rig: Rig, *views: str) -> Callable[[], bool]:
    store, ends = rig.store, rig.ends()
    return lambda: all(v.cut.covers(ends[v.stream]) for v in store.versions().values() if v.view in views)


def test_an_app_counts_a_stream_of_another_from_its_lake_and_its_log_and_writes_neither(
    spark: Any, broker: Broker, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    rng, topic = random.Random(11), unique("used")
    theirs = Rig(owner(topic), broker.settings, spark, tmp_path / "bitcoin")
    theirs.register()
    theirs.send("events", values(rng, 200))
    theirs.mirror()
    delete_below(broker, topic, 120)

    ours = Rig(user(theirs.folder), broker.settings, spark, tmp_path / "report")
    before = held(theirs)
    with pytest.raises(LogError):
        register(ours.app, ours.store, LogSettings("127.0.0.1:9"))
    ours.register()
    ours.register()
    state, source = ours.store.streams()["theirs"], theirs.store.streams()["events"]
    assert (state.origin, state.lake_cut) == (source.origin, source.lake_cut)
    assert ours.batch("levels", full=False).records == 200
    assert held(theirs) == before

    theirs.send("events", values(rng, 50))
    with Live(ours) as failures:
        # The log no longer reaches the other view: it is fed again once a batch has brought it forward.
        awaited(at_the_end(ours, "levels"), "levels at the end of the log")
        assert not at_the_end(ours, "closing")()
        ours.batch("closing", full=False)
        theirs.send("events", values(rng, 50))
        awaited(at_the_end(ours, "levels", "closing"), "closing at the end of the log")
        assert not failures
    theirs.mirror()
    before = held(theirs)
    follow(ours)
    assert ours.store.lake_cut("theirs") == theirs.store.lake_cut("events")
    desk = Desk(spark, ours.log, ours.store, ours.root, threading.Event())
    job(desk, do="batch")
    assert all(view["equal"] for view in job(desk, do="audit")["views"])
    assert job(desk, do="batch", full=True)["views"][0]["records"] == 300
    job(desk, do="replay", view="levels")
    assert job(desk, do="verify", view="levels")["equal"]
    assert job(desk, do="lake") == {"tables": []}
    assert job(desk, do="optimize") == {"merged": []}
    assert job(desk, do="quarantine", action="list") == {"events": [], "more": False}
    for refused in (
        {"do": "accept-hole", "stream": "theirs", "reason": "x"},
        {"do": "quarantine", "action": "retry", "stream": "theirs"},
    ):
        with pytest.raises(UsageError, match="belongs to app 'bitcoin', which alone writes it"):
            job(desk, **refused)
    assert not Path(ours.root).exists()
    assert held(theirs) == before

    theirs.batch("levels", full=True)
    assert ours.answered("levels", "hour") == theirs.answered("levels", "hour")


def test_a_used_stream_that_grows_is_not_counted_by_its_old_form(
    spark: Any, broker: Broker, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    topic, schema = unique("used"), "time timestamp, k string, price decimal(18,2), n int"
    theirs = Rig(owner(topic, schema), broker.settings, spark, tmp_path / "bitcoin")
    theirs.register()
    app = tb.App("report")
    events = app.use("bitcoin/events", folder=theirs.folder)
    app.view("sums", events, select={"n": tb.count(), "total": tb.sum("n")})
    ours = Rig(app, broker.settings, spark, tmp_path / "report")
    ours.register()
    theirs.send("events", [_event(1), _event(2**40)])
    ours.speed()
    theirs.mirror()

    after = Rig(owner(topic, schema.replace("n int", "n bigint, kind string")), *_parts(theirs))
    assert grow(after.app, after.store, after.log) == ["stream 'events' has new columns or wider types from 0:2 on"]
    after.register()
    after.send("events", [_event(2**41, kind="new"), _event(3)])
    after.mirror()
    with Live(ours) as failures:
        awaited(lambda: bool(failures), "a refusal")
        assert isinstance(failures[0], StoreError)
        assert "app 'bitcoin' has changed it" in str(failures[0])
        assert str(ours.store.versions()[1].cut) == "0:2"
        with pytest.raises(DeclarationError, match="taken by a start"):
            register(_again(theirs), ours.store, ours.log)
        follow(ours)
        awaited(at_the_end(ours, "sums"), "sums at the end of the log")
    assert ours.answered("sums", "all")[1] == [{"n": 3, "total": 2**41 + 4}]
    again = Rig(_again(theirs), *_parts(ours))
    assert grow(again.app, again.store, again.log) == []
    again.register()
    assert again.batch("sums", full=True).records == 4
    assert again.audit("sums").equal
    assert again.answered("sums", "all")[1] == [{"n": 3, "total": 2**41 + 4}]
    assert stream_of(again.store.streams()["events"]) == again.app.streams["events"]


def _parts(rig: Rig) -> tuple[LogSettings, Any, Path]:
    return rig.log, rig.spark, rig.folder


def _again(theirs: Rig) -> tb.App:
    app = tb.App("report")
    events = app.use("bitcoin/events", folder=theirs.folder)
    app.view("sums", events, select={"n": tb.count(), "total": tb.sum("n")})
    return app


def _event(n: int, **more: Any) -> bytes:
    return json.dumps({"time": "2026-11-15T12:00:00Z", "k": "a", "price": 1, "n": n, **more}).encode()
