"""Every kind of bad event lands in quarantine, whole, with its reason; counts add up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tarnbeck as tb
from tarnbeck.lake import quarantine
from tarnbeck.lake import tables as lake
from tarnbeck.lake.tables import Tables
from tarnbeck.log.broker import Broker
from tests.e2e.rig import Rig

pytestmark = [pytest.mark.spark, pytest.mark.broker]

GOOD = b'{"time": "2026-11-15T12:00:00Z", "n": 1, "x": 1.5, "unheard": {"of": [1, 2]}}'
BAD: dict[str, bytes] = {
    "not JSON": b'{"time": ',
    "bad UTF-8": b'{"time": "2026-11-15T12:00:00Z", "s": "\xff"}',
    "expected int": b'{"time": "2026-11-15T12:00:00Z", "n": "1"}',
    "missing": b'{"n": 1}',
    "no time zone": b'{"time": "2026-11-15T12:00:00", "n": 1}',
    "out of range": b'{"time": "2026-11-15T12:00:00Z", "n": 3000000000}',
    "NaN": b'{"time": "2026-11-15T12:00:00Z", "x": NaN}',
    "nested deeper": b'{"time": "2026-11-15T12:00:00Z", "a": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    "duplicate key": b'{"time": "2026-11-15T12:00:00Z", "n": 1, "n": 2}',
    "1 MiB": b'{"time": "2026-11-15T12:00:00Z", "s": "' + b"x" * (1 << 20) + b'"}',
    "not an object": b"[1, 2, 3]",
}


def test_bad_events_are_kept_whole_with_their_reasons_and_never_stop_the_rest(
    spark: Any, broker: Broker, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    app = tb.App("bad")
    stream = app.stream("events", "time timestamp, n int, x double, s string", time="time", topic=unique("bad"))
    app.view("n", stream, select={"n": tb.count()})
    rig = Rig(app, broker.settings, spark, tmp_path)
    rig.register()
    sent = [GOOD, *BAD.values(), GOOD]
    rig.send("events", sent)
    rig.mirror()
    rig.speed()

    tables = Tables(rig.root, stream)
    state = rig.store.streams()["events"]
    kept = quarantine.select(spark, tables, state, None)
    assert {row.value for row in kept} == set(BAD.values())
    reasons = {row.value: row.reason for row in kept}
    for reason, value in BAD.items():
        assert reason in reasons[value], reasons[value]

    events = lake.read(spark, tables, state.origin.span_to(state.lake_cut)).collect()
    assert len(events) + len(kept) == len(sent)
    assert [event["_extra"] for event in events] == [{"unheard": '{"of":[1,2]}'}] * 2
    assert rig.answered("n", "all")[1] == [{"n": 2}]
