"""The same events sent plain and packed, in one topic: every layer counts each of them once."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tarnbeck as tb
from tarnbeck.batch import audit
from tarnbeck.batch.layer import Source
from tarnbeck.errors import UsageError
from tarnbeck.lake import quarantine
from tarnbeck.lake import tables as lake
from tarnbeck.lake.tables import Tables
from tarnbeck.log.broker import Broker
from tarnbeck.log.lines import Line
from tarnbeck.log.produce import Sender
from tarnbeck.node import jobs
from tarnbeck.node.desk import Desk
from tarnbeck.schema.packs import ARROW
from tarnbeck.spark import supervised
from tests.e2e.rig import Rig, values

pytestmark = [pytest.mark.spark, pytest.mark.broker]

SCHEMA = "time timestamp, k string, price decimal(12,2), n bigint, x double"


def rig_of(spark: Any, broker: Broker, folder: Path, topic: str) -> Rig:
    app = tb.App("packs")
    stream = app.stream("events", SCHEMA, time="time", key="k", topic=topic)
    app.view("minutes", stream, by="k", window=tb.rollup("minute", "hour"), select={"n": tb.count(), "s": tb.sum("n")})
    app.view("ends", stream, by="k", select={"first": tb.first("n"), "last": tb.last("n"), "all": tb.distinct("x")})
    rig = Rig(app, broker.settings, spark, folder)
    rig.register()
    return rig


def table_of(texts: list[bytes]) -> pa.Table:
    """Good events as a table, with times as texts as a careless producer has them."""
    return pa.Table.from_pylist([json.loads(text) for text in texts])


def test_plain_and_packed_events_are_counted_alike_by_every_layer(
    spark: Any, broker: Broker, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    rig = rig_of(spark, broker, tmp_path, unique("packs"))
    stream = rig.app.streams["events"]
    texts = [text for text in values(random.Random(4), 900) if b"\n" not in text]
    good = [text for text in texts if text.startswith(b'{"time": "2')]
    with Sender(rig.log, stream) as sender:
        for number, text in enumerate(texts):
            sender.send_line(Line(f"line {number}", text))
            sender.pack_line(Line(f"line {number}", text))
            if number == 400:
                sender.pack_table(table_of(good))
        sender.send(b"no arrow", content_type=ARROW)
        sent = sender.flush()
    assert (sent.acknowledged, sent.failed) == (2 * len(texts) + len(good) + 1, 0)
    rig.mirror()
    rig.speed()
    rig.batch("minutes", full=True)

    tables, state = Tables(rig.root, stream), rig.store.streams()["events"]
    events = lake.read(spark, tables, state.origin.span_to(state.lake_cut))
    kept = quarantine.select(spark, tables, state, None)
    assert events.count() == 3 * len(good)
    assert events.select("_partition", "_offset", "_index").distinct().count() == 3 * len(good)
    assert len(kept) == 2 * (len(texts) - len(good)) + 1
    bad = [text for text in texts if text not in good]
    assert sorted(row.value or b"" for row in kept) == sorted([*bad, *bad, b"no arrow"])
    assert [row.index for row in kept if row.value == b"no arrow"] == [None]
    # A key's events stand in one partition, however they were sent.
    assert events.where("k IS NOT NULL").groupBy("k").agg({"_partition": "min"}).count() == 3
    assert events.where("k IS NOT NULL").select("k", "_partition").distinct().count() == 3
    for view, levels in (("minutes", ("minute", "hour")), ("ends", ("all",))):
        assert audit.run(Source(spark, rig.log, rig.store, rig.root), view, step=lambda _: None).equal
        for level in levels:
            cut, found = rig.answered(view, level)
            assert found == rig.oracle(view, level, cut)
    assert sum(row["n"] for row in rig.answered("minutes", "hour")[1]) == 3 * len(good)


def test_one_bad_event_of_a_pack_is_shown_and_sent_again_alone(
    spark: Any, broker: Broker, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    rig = rig_of(spark, broker, tmp_path, unique("packs"))
    time = "2026-11-15T12:00:00Z"
    with Sender(rig.log, rig.app.streams["events"]) as sender:
        rows = [{"time": time, "k": "a", "x": 1.0}, {"time": time, "k": "a", "x": float("nan")}, {"k": "a"}]
        sender.pack_table(pa.Table.from_pylist(rows))
        sender.flush()
    rig.mirror()
    desk = Desk(spark, rig.log, rig.store, rig.root, threading.Event())

    def ask(**job: Any) -> Any:
        *_, last = jobs.run(desk, {"do": "quarantine", "stream": "events", **job})
        return last["result"]

    listed = sorted(ask(action="list")["events"], key=lambda event: event["index"])
    assert [(event["index"], event["reason"]) for event in listed] == [(1, "x: NaN"), (2, "time: missing")]
    place = [listed[0]["partition"], listed[0]["offset"]]
    with pytest.raises(UsageError, match=r"2 events at .*\n  say which: \d+:0:1, \d+:0:2"):
        ask(action="show", place=place)
    shown = ask(action="show", place=[*place, 1])["event"]
    assert shown["value"] == '{"time":"2026-11-15T12:00:00Z","k":"a","x":NaN}'
    retried = ask(action="retry", places=[[*place, 2]])
    assert (retried["sent"], retried["offsets"]) == (1, {str(place[0]): [1, 1]})
    rig.mirror()
    again = ask(action="show", place=[place[0], 1])["event"]
    assert (again["index"], again["value"], again["reason"]) == (0, '{"k":"a"}', "time: missing")


def test_micro_batches_are_bounded_by_bytes(
    spark: Any, broker: Broker, tmp_path: Path, unique: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """First small records, then large ones: the bound found from the first must give way."""
    monkeypatch.setattr("tarnbeck.speed.layer.MOST_BYTES", 20_000)
    monkeypatch.setattr("tarnbeck.speed.layer.FEW_BYTES", 1_000)
    batches: list[tuple[int, float | None]] = []
    bound = supervised._Attempt._rebound

    def noted(attempt: supervised._Attempt, count: int, weight: int) -> None:
        batches.append((count, attempt.size))
        bound(attempt, count, weight)

    monkeypatch.setattr(supervised._Attempt, "_rebound", noted)
    rig = rig_of(spark, broker, tmp_path, unique("packs"))
    with Sender(rig.log, rig.app.streams["events"]) as sender:
        small = b'{"time": "2026-11-15T12:00:00Z", "k": "a", "n": 1}'
        for _ in range(300):
            sender.send(small, partition=0)
        for _ in range(200):
            sender.send(b"\n".join([small] * 20), partition=0, content_type="application/x-ndjson", events=20)
        assert sender.flush().acknowledged == 4300
    rig.speed()
    assert sum(row["n"] for row in rig.answered("minutes", "hour")[1]) == 4300
    counts = [count for count, _ in batches if count]
    assert sum(counts) == 500
    # By the small records that come first, 400 fit into the bound; of the large ones, a twentieth of that.
    assert counts[0] > 300
    assert max(counts[1:]) <= 100
