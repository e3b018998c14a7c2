"""Random events and random orders of send, lake, speed, batch and restart: every answer equals a recount at its cut."""

from __future__ import annotations

import math
import random
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import tarnbeck as tb
from tarnbeck.log.broker import Broker
from tarnbeck.window.window import Window
from tests.e2e.rig import Rig, values

pytestmark = [pytest.mark.spark, pytest.mark.broker]

SCHEMA = "time timestamp, k string, price decimal(18,2), n bigint, x double"
SELECTS: list[dict[str, Any]] = [
    {"n": tb.count(), "total": tb.sum("n"), "mean": tb.mean("price")},
    {
        "open": tb.first("price"),
        "close": tb.last("price"),
        "high": tb.max("price"),
        "low": tb.min("price"),
        "spread": "high - low",
    },
    {"x": tb.sum("x"), "newest": tb.last("k"), "m": tb.mean("n")},
]
PACKED: dict[str, Any] = {
    "firsts": tb.first("price", 2),
    "top": tb.top_k("n", 3),
    "different": tb.distinct("k"),
    "about": tb.uniques("n"),
    "some": tb.sample("n", 3),
    "usual": tb.mode("k"),
    "between": tb.histogram("x", [0, 10]),
    "deviation": tb.stddev("x"),
    "positive": tb.count(where="n > 0"),
}
WINDOWS: list[Window] = [
    tb.all_time(),
    tb.tumbling("1 minute"),
    tb.tumbling("7 hours"),
    tb.rollup("minute", "hour", "day", zone="America/Sao_Paulo"),
]
ASSEMBLED: list[Window] = [tb.sliding("3 hours", every="1 hour"), tb.session("10 minutes")]
KEYS: list[Any] = [(), "k", {"lowered": "coalesce(k, 'none')"}, ["k", "price"]]


def random_app(rng: random.Random, name: str) -> tb.App:
    app = tb.App("e2e")
    stream = app.stream("events", SCHEMA, time="time", topic=name, partitions=rng.randrange(1, 4))
    for number in range(2):
        app.view(
            f"v{number}", stream, by=rng.choice(KEYS), window=rng.choice(WINDOWS), select=rng.choice(SELECTS),
            where=rng.choice([None, "price > 100", "k is not null"]),
        )  # fmt: skip
    app.view("v2", stream, by=rng.choice(KEYS[:3]), window=rng.choice(ASSEMBLED), select=PACKED)
    # What is kept ends amid the events, and moves on with every second that the test takes.
    keep = f"{max(10_800, int((datetime.now(UTC) - datetime(2026, 10, 25, 12, 30, tzinfo=UTC)).total_seconds()))} s"
    windows = [tb.rollup("second", "minute"), tb.tumbling("5 s"), *ASSEMBLED]
    app.view("v3", stream, by=rng.choice(KEYS[:2]), window=rng.choice(windows), keep=keep, select=rng.choice(SELECTS))
    return app


def check(rig: Rig) -> None:
    for view in rig.app.views.values():
        for level in view.window.levels:
            cut, found = rig.answered(view.name, level)
            expected = rig.oracle(view.name, level, cut)
            assert len(found) == len(expected)
            for ours, theirs in zip(found, expected, strict=True):
                assert ours.keys() == theirs.keys()
                assert all(same(ours[name], theirs[name]) for name in ours), (view.name, level, str(cut), ours, theirs)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-5)
    return bool(a == b)


@pytest.mark.parametrize("seed", range(2))
def test_every_answer_equals_a_recount_at_its_own_cut(
    seed: int, spark: Any, broker: Broker, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    rng = random.Random(seed)
    rig = Rig(random_app(rng, unique("e2e")), broker.settings, spark, tmp_path)
    rig.register()
    rig.send("events", values(rng, 300))
    steps: list[tuple[str, Callable[[], object]]] = [
        ("send", lambda: rig.send("events", values(rng, rng.randrange(1, 400)))),
        ("speed", rig.speed),
        ("lake", rig.mirror),
        ("batch", lambda: caught_up_batch(rig, rng, full=False)),
        ("batch in full", lambda: caught_up_batch(rig, rng, full=True)),
        ("register again", rig.register),
        ("lose the checkpoints", lambda: shutil.rmtree(tmp_path / "checkpoints", ignore_errors=True)),
    ]
    done = []
    for _ in range(9):
        name, step = rng.choice(steps)
        done.append(name)
        step()
        check(rig)
    rig.speed()
    rig.mirror()
    rig.batch("v3", full=False)
    check(rig)
    assert rig.audit("v3").equal, done
    assert {str(version.cut) for version in rig.store.versions().values()} == {str(rig.ends()["events"])}, done


def caught_up_batch(rig: Rig, rng: random.Random, *, full: bool) -> None:
    """A batch waits until the lake covers the view's cut; here the lake moves only when a step lets it."""
    rig.mirror()
    rig.batch(rng.choice(["v0", "v1", "v2", "v3"]), full=full)
