"""Retention that overtakes the lake: it stops, a person accepts the hole, it goes on behind it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

import tarnbeck as tb
from tarnbeck.errors import LakeError, UsageError
from tarnbeck.lake import layer
from tarnbeck.lake import tables as lake
from tarnbeck.lake.tables import Tables
from tarnbeck.log.broker import Broker
from tarnbeck.node import jobs
from tarnbeck.node.desk import Desk
from tarnbeck.store.protocol import LAKE
from tests.e2e.rig import Rig

pytestmark = [pytest.mark.spark, pytest.mark.broker]


@pytest.mark.parametrize("died", [False, True], ids=["idle", "with an intent open"])
def test_the_lake_stops_at_a_hole_and_goes_on_when_it_is_accepted(
    died: bool, spark: Any, broker: Broker, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    app = tb.App("holes")
    stream = app.stream("events", "time timestamp, n int", time="time", topic=unique("holes"), partitions=1)
    app.view("n", stream, select={"n": tb.count()})
    rig = Rig(app, broker.settings, spark, tmp_path)
    rig.register()
    desk = Desk(spark, rig.log, rig.store, rig.root, threading.Event())
    rig.send("events", [_event(n) for n in range(4)])
    rig.mirror()
    with pytest.raises(UsageError, match="nothing to accept"):
        _accept(desk)

    rig.send("events", [_event(n) for n in range(4, 10)])
    state = rig.store.streams()["events"]
    if died:
        assert rig.store.open_intent(rig.store.take_token(LAKE), "events", state.lake_cut, rig.ends()["events"])
    delete_below(broker, stream.topic, 7)
    failed: list[BaseException] = []
    stop = threading.Event()

    def fail(error: BaseException) -> None:
        failed.append(error)
        stop.set()

    layer.run(spark, rig.log, rig.store, rig.root, tmp_path, stop, told=lambda _: None, failed=fail)
    if not died:
        assert isinstance(failed[0], LakeError)
        assert "--accept-hole events" in str(failed[0])

    assert _accept(desk)["lost"] == 3
    rig.send("events", [_event(10)])
    rig.mirror()
    state = rig.store.streams()["events"]
    kept = lake.read(spark, Tables(rig.root, stream), state.origin.span_to(state.lake_cut)).collect()
    assert sorted(event["n"] for event in kept) == [0, 1, 2, 3, 7, 8, 9, 10]
    assert [hole.reason for hole in state.holes] == ["retention was too short"]


def _event(n: int) -> bytes:
    return b'{"time": "2026-11-15T12:00:00Z", "n": %d}' % n


def _accept(desk: Desk) -> Any:
    job = {"do": "accept-hole", "stream": "events", "reason": "retention was too short"}
    return list(jobs.run(desk, job))[-1]["result"]


def delete_below(broker: Broker, topic: str, offset: int) -> None:
    admin = AdminClient({"bootstrap.servers": broker.settings.bootstrap})
    for done in admin.delete_records([TopicPartition(topic, 0, offset)]).values():
        done.result(timeout=30)
