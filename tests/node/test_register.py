"""What an app needs is registered once; a changed view is deployed beside the old one, a changed stream is refused."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tarnbeck as tb
from tarnbeck.errors import DeclarationError, NotReady
from tarnbeck.log.broker import Broker
from tarnbeck.node import jobs, versions
from tarnbeck.node.desk import Desk
from tarnbeck.node.node import reported
from tarnbeck.node.register import register, told
from tarnbeck.node.versions import Office
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


def job(desk: Desk, **given: Any) -> Any:
    *_, last = jobs.run(desk, given)
    return last["result"]


def test_a_changed_view_is_told_and_stays_as_it_was(
    spark: Any, broker: Broker, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    topic = unique("changing")
    before = Rig(application(topic), broker.settings, spark, tmp_path)
    before.register()
    after = application(topic, "n < 2")
    registered = register(after, before.store, before.log)
    assert registered.changed == {"changed": ("where: was n > 0, now n < 2",)}
    assert register(after, before.store, before.log) == registered
    assert list(told(registered)) == [
        "view 'changed' is declared otherwise now; what was declared before goes on answering",
        "  where: was n > 0, now n < 2",
        "  build the new versions beside the old ones: tarnbeck deploy APP.py",
    ]
    assert len(before.store.versions()) == 2


def test_a_deploy_builds_a_version_beside_the_old_one_which_answers_until_it_is_switched(
    spark: Any, broker: Broker, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    topic = unique("changing")
    before = Rig(application(topic), broker.settings, spark, tmp_path)
    before.register()
    before.send("events", events(-1, 0, 1, 2))
    before.mirror()
    before.speed()
    after = Rig(application(topic, "n < 2"), broker.settings, spark, tmp_path)
    desk = Desk(spark, after.log, after.store, after.root, threading.Event())
    deployed = job(desk, do="deploy", app=after.app.definition())
    (built,) = deployed["versions"]
    assert (built["view"], built["records"], deployed["changed"]) == (
        "changed",
        4,
        {"changed": ["where: was n > 0, now n < 2"]},
    )
    assert deployed["ready"] == {"changed": built["version"]}
    assert after.answered("changed", "all")[1] == [{"n": 2, "sum": 3}]
    again = job(desk, do="deploy", app=after.app.definition())
    assert (again["versions"], again["changed"], again["ready"]) == ([], {}, deployed["ready"])

    after.send("events", events(5, -5))
    after.speed()
    found = job(desk, do="verify", view="changed")
    assert (found["equal"], found["differs"], found["columns"][0]["differs"]) == (False, 1, 1)
    office = Office(after.store)
    versions.run(office, {"do": "switch", "views": ["changed"], "who": "ann", "reason": "small ones"})
    assert after.answered("changed", "all")[1] == [{"n": 4, "sum": -5}]
    assert after.answered("kept", "all")[1] == [{"n": 6}]
    after.mirror()
    assert {made["version"] for made in job(desk, do="batch")["views"]} == set(after.store.versions())
    versions.run(office, {"do": "rollback", "view": "changed"})
    assert after.answered("changed", "all")[1] == [{"n": 3, "sum": 8}]
    assert all(view["equal"] for view in job(desk, do="audit")["views"])


def test_a_replay_that_was_stopped_goes_on_where_it_was(
    spark: Any, broker: Broker, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    rig = Rig(application(unique("paused")), broker.settings, spark, tmp_path)
    rig.register()
    rig.send("events", events(*range(1, 41)))
    rig.mirror()
    rig.speed()
    stopped = threading.Event()
    desk = Desk(spark, rig.log, rig.store, rig.root, stopped)
    updates = jobs.run(desk, {"do": "replay", "view": "changed", "max_rate": 2})
    paces = (round(update["done"] * 40) for update in updates if "left" in update)
    told = [next(paces)]
    assert 8 <= told[0] <= 10
    stopped.set()
    # Where a step takes longer than its pace, the next one has begun by now.
    with pytest.raises(NotReady, match="stopped at"):
        told.extend(paces)
    desk = Desk(spark, rig.log, rig.store, rig.root, threading.Event())
    (built,) = job(desk, do="replay", view="changed")["versions"]
    assert built["records"] == 40 - told[-1] > 0
    assert job(desk, do="verify", view="changed")["equal"]


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
    building = register(rig.app, rig.store, rig.log).building
    assert building == (rig.store.aliases()["added"],)
    with pytest.raises(tb.TarnbeckError, match="building"):
        rig.answered("added", "all")
    desk = Desk(spark, rig.log, rig.store, rig.root, threading.Event())
    (line,) = reported(job(desk, do="replay", versions=list(building)))
    assert line.startswith("replay: added 3 records up to ")
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
