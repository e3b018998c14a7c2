"""A log that has gone quiet: what was declared meanwhile is fed all the same, without waiting for the next event."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import tarnbeck as tb
from tarnbeck.log.broker import Broker
from tarnbeck.node.register import add
from tarnbeck.store.protocol import Committed, Contribution
from tarnbeck.store.sqlite import SQLiteStore
from tests.e2e.rig import Rig

pytestmark = [pytest.mark.spark, pytest.mark.broker]


def application(names: dict[str, str]) -> tb.App:
    """One stream and one view of it for each name, over the topic that goes with it."""
    app = tb.App("quiet")
    for name, topic in names.items():
        stream = app.stream(name, "time timestamp, n int", time="time", topic=topic, partitions=1)
        app.view(f"sum_{name}", stream, select={"n": tb.count(), "total": tb.sum("n")})
    return app


def events(*given: int) -> list[bytes]:
    return [json.dumps({"time": "2026-11-15T12:00:00Z", "n": n}).encode() for n in given]


def test_a_version_that_is_added_amid_a_micro_batch_is_fed_though_nothing_more_comes(
    spark: Any, broker: Broker, tmp_path: Path, unique: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig(application({"calm": unique("calm")}), broker.settings, spark, tmp_path)
    rig.register()
    commit = SQLiteStore.commit

    def amid(store: SQLiteStore, token: int | None, given: Sequence[Contribution]) -> Committed:
        """The micro-batch was computed without the version that is added before it is committed."""
        monkeypatch.setattr(SQLiteStore, "commit", commit)
        add(rig.app.views["sum_calm"], store)
        return commit(store, token, given)

    monkeypatch.setattr(SQLiteStore, "commit", amid)
    rig.send("calm", events(1, 2, 3))
    rig.speed()
    assert [str(version.cut) for version in rig.store.versions().values()] == ["0:3", "0:3"]


def test_a_stream_that_is_added_while_the_others_are_silent_is_read_at_once(
    spark: Any, broker: Broker, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    topics = {"calm": unique("calm"), "lively": unique("lively")}
    before = Rig(application({"calm": topics["calm"]}), broker.settings, spark, tmp_path)
    before.register()
    before.send("calm", events(1))
    after = Rig(application(topics), broker.settings, spark, tmp_path)
    with before.feeding(), before.mirroring():
        before.await_speed()
        before.await_lake()
        after.register()
        after.send("lively", events(4, 5))
        after.await_speed()
        after.await_lake()
    assert after.answered("sum_lively", "all")[1] == [{"n": 2, "total": 9}]
