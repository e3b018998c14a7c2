"""An app without a batch layer: its generations are merged epochs, and every answer equals a recount all the same."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tarnbeck as tb
from tarnbeck.errors import UsageError
from tarnbeck.log.broker import Broker
from tarnbeck.node import jobs
from tarnbeck.node.desk import Desk
from tests.e2e.rig import Rig, values
from tests.e2e.test_hole import delete_below
from tests.e2e.test_interleavings import PACKED, SCHEMA, SELECTS, check

pytestmark = [pytest.mark.spark, pytest.mark.broker]


def test_merged_epochs_answer_like_a_recount_and_the_lake_helps_where_the_log_ends(
    spark: Any, broker: Broker, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    rng, topic = random.Random(4), unique("kappa")
    app = tb.App("kappa", mode="kappa")
    events = app.stream("events", SCHEMA, time="time", topic=topic, partitions=1)
    app.view("levels", events, by="k", window=tb.rollup("minute", "hour"), select=SELECTS[0])
    app.view("packed", events, by="k", window=tb.sliding("3 hours", every="1 hour"), select=PACKED)
    rig = Rig(app, broker.settings, spark, tmp_path)
    rig.register()
    desk = Desk(spark, rig.log, rig.store, rig.root, threading.Event())
    for _ in range(2):
        rig.send("events", values(rng, 200))
        rig.speed()
        job(desk, do="batch")
        check(rig)
    assert all(version.generation for version in rig.store.versions().values())
    with pytest.raises(UsageError, match="no batch layer"):
        job(desk, do="batch", full=True)

    rig.send("events", values(rng, 50))
    rig.mirror()
    delete_below(broker, topic, 420)
    job(desk, do="batch")
    rig.send("events", values(rng, 50))
    rig.speed()
    assert {str(version.cut) for version in rig.store.versions().values()} == {"0:500"}
    assert all(view["equal"] for view in job(desk, do="audit")["views"])

    rig.mirror()
    job(desk, do="replay", view="levels")
    assert job(desk, do="verify", view="levels")["equal"]


def job(desk: Desk, **given: Any) -> Any:
    *_, last = jobs.run(desk, given)
    return last["result"]
