"""A stream that holds events gets a new column and a wider type: old answers stay, new ones see it, audits agree."""

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
from tarnbeck.node.desk import Desk
from tarnbeck.node.grow import grow
from tests.e2e.rig import Rig
from tests.e2e.test_kappa import job

pytestmark = [pytest.mark.spark, pytest.mark.broker]


def application(topic: str, schema: str) -> tb.App:
    app = tb.App("growing")
    events = app.stream("events", schema, time="time", topic=topic, partitions=1)
    app.view("sums", events, select={"n": tb.count(), "total": tb.sum("n")})
    return app


def events(*given: dict[str, Any]) -> list[bytes]:
    return [json.dumps({"time": "2026-11-15T12:00:00Z", **event}).encode() for event in given]


def test_old_events_stay_as_they_were_and_new_ones_have_the_new_column(
    spark: Any, broker: Broker, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    topic = unique("growing")
    before = Rig(application(topic, "time timestamp, n int"), broker.settings, spark, tmp_path)
    before.register()
    before.send("events", events({"n": 1}, {"n": 2, "kind": "not yet"}, {"n": 2**40}))
    before.speed()
    before.mirror()

    app = application(topic, "time timestamp, kind string, n bigint")
    app.view("kinds", app.streams["events"], by="kind", select={"n": tb.count(), "total": tb.sum("n")})
    after = Rig(app, broker.settings, spark, tmp_path)
    with pytest.raises(DeclarationError, match="by a start: tarnbeck up"):
        after.register()
    assert grow(app, after.store, after.log) == ["stream 'events' has new columns or wider types from 0:3 on"]
    assert not grow(app, after.store, after.log)
    after.register()
    assert len(after.store.versions()) == 2
    after.send("events", events({"n": 2**40, "kind": "new"}, {"n": 3}))
    after.speed()
    after.mirror()
    desk = Desk(spark, after.log, after.store, after.root, threading.Event())
    job(desk, do="replay", view="kinds")
    assert after.answered("sums", "all")[1] == [{"n": 4, "total": 6 + 2**40}]
    assert after.answered("kinds", "all")[1] == [
        {"kind": None, "n": 3, "total": 6},
        {"kind": "new", "n": 1, "total": 2**40},
    ]
    job(desk, do="batch", full=True)
    assert all(view["equal"] for view in job(desk, do="audit")["views"])
    assert {table["table"]: table["rows"] for table in job(desk, do="lake")["tables"]} == {"events": 4, "quarantine": 1}

    narrower = application(topic, "time timestamp, n int, kind string")
    with pytest.raises(DeclarationError, match="bigint can't become int"):
        grow(narrower, after.store, after.log)
