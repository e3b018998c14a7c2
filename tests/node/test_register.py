"""What an app needs is registered once; a changed view is rebuilt beside the old one, a changed stream is refused."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tarnbeck as tb
from tarnbeck.errors import DeclarationError
from tarnbeck.log.broker import Broker
from tarnbeck.node import jobs
from tarnbeck.node.jobs import Desk
from tarnbeck.node.register import register
from tests.e2e.rig import Rig

pytestmark = [pytest.mark.broker, pytest.mark.spark]

SCHEMA = "time timestamp, n int"


def application(topic: str, counted: str = "n > 0", schema: str = SCHEMA) -> tb.App:
    app = tb.App("changing")
    stream = app.stream("events", schema, time="time", topic=topic)
    app.view("kept", stream, select={"n": tb.count()})
    app.view("changed", stream, where=counted, select={"n": tb.count(), "sum": tb.sum("n")})
    return app


def events(*numbers: int) -> list[bytes]:
    return [json.dumps({"time": "2026-11-15T12:00:00Z", "n": n}).encode() for n in numbers]


def test_a_changed_view_is_rebuilt_while_the_old_one_answers_and_then_takes_its_place(
    spark: Any, broker: Broker, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    topic = unique("changing")
    before = Rig(application(topic), broker.settings, spark, tmp_path)
    before.register()
    before.send("events", events(-1, 0, 1, 2))
    before.mirror()
    before.speed()
    assert before.answered("changed", "all")[1] == [{"n": 2, "sum": 3}]

    after = Rig(application(topic, "n < 2"), broker.settings, spark, tmp_path)
    registered = register(after.app, after.store, after.log)
    assert list(registered.changed) == ["changed"]
    assert register(after.app, after.store, after.log) == registered
    assert after.answered("changed", "all")[1] == [{"n": 2, "sum": 3}]

    after.send("events", events(5, -5))
    after.mirror()
    after.speed()
    desk = Desk(spark, after.log, after.store, after.root, threading.Event())
    *_, last = jobs.run(desk, {"do": "rebuild", "versions": registered.changed})
    assert [made["view"] for made in last["result"]["views"]] == ["changed"]
    assert after.answered("changed", "all")[1] == [{"n": 4, "sum": -5}]
    assert after.answered("kept", "all")[1] == [{"n": 6}]
    assert len(after.store.versions()) == 2
    *_, audited = jobs.run(desk, {"do": "audit"})
    assert all(view["equal"] for view in audited["result"]["views"])


def test_a_new_view_is_built_from_the_lake(
    spark: Any, broker: Broker, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    topic = unique("growing")
    rig = Rig(application(topic), broker.settings, spark, tmp_path)
    rig.register()
    rig.send("events", events(1, 2, 3))
    rig.mirror()
    rig.speed()
    rig.app.view("added", rig.app.streams["events"], select={"most": tb.max("n")})
    assert register(rig.app, rig.store, rig.log).building == ("added",)
    with pytest.raises(tb.TarnbeckError, match="building"):
        rig.answered("added", "all")
    rig.batch("added", full=False)
    assert rig.answered("added", "all")[1] == [{"most": 3}]


def test_a_stream_that_changed_is_refused_with_the_difference(
    spark: Any, broker: Broker, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    topic = unique("fixed")
    rig = Rig(application(topic), broker.settings, spark, tmp_path)
    rig.register()
    other = application(topic, schema="time timestamp, n bigint")
    with pytest.raises(DeclarationError, match=r"(?s)schema: was time timestamp, n int, now time timestamp, n bigint"):
        register(other, rig.store, rig.log)
    stranger = tb.App("stranger")
    stranger.stream("events", SCHEMA, time="time", topic=topic)
    with pytest.raises(DeclarationError, match="belongs to app 'changing'"):
        register(stranger, rig.store, rig.log)
