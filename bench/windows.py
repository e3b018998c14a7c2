"""Windows over a backlog: tarnbeck, Flink SQL and Structured Streaming on one topic, in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import tarnbeck as tb
from bench import peers
from bench.backlog import anatomy, catch_up
from bench.figure import OURS, Figure, Target, Timed, race, rate, steps
from bench.flink.process import Query, flink
from bench.place import Place
from tarnbeck.speed import layer as speed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FLINK, SPARK = "Flink", "Structured Streaming"
WARM = 2
"""Rounds beyond those of other figures: Java's compiler is not done with Flink after the first."""
SEEN = (
    "tarnbeck's windows can be read when the clock stops; Flink's rows go to its blackhole, Spark's to its noop",
    "Flink runs on 2 slots in a process of its own that stays warm, with object reuse, two-phase aggregation, "
    "mini-batches, no checkpoints; its time is that of the job, without the start of its cluster",
)


@dataclass(frozen=True)
class Windows:
    """One question to all three: a view, the same in Flink's SQL, and over a streaming frame of decoded events."""

    name: str
    what: str
    app: tb.App
    flink: Query
    schema: str
    spark: Callable[[DataFrame], DataFrame]
    least: dict[str, Target]
    """What is demanded of the ratio to each peer."""
    slow: int | None = None
    """Rounds of Structured Streaming, where each takes minutes."""


def measure(spark: SparkSession, place: Place, asked: Windows) -> Iterator[Figure]:
    """A figure for each peer, all from one race."""
    with flink(place.folder / "flink") as running:
        sides: dict[str, Timed] = {
            OURS: lambda: catch_up(spark, place, asked.app),
            FLINK: lambda: running.seconds(place.log, place.topic, asked.flink),
            SPARK: lambda: structured(spark, place, asked),
        }
        rounds = {} if asked.slow is None else {SPARK: min(asked.slow, place.repeats)}
        best = race(place.repeats + WARM, sides, place.tell, rounds)
    mine = best[OURS]
    profile = steps([*anatomy(spark, place, asked.app), ("in micro-batches, committed", mine)])
    for number, (peer, target) in enumerate(asked.least.items()):
        yield Figure(
            f"{asked.name} / {peer}",
            asked.what,
            rate(place.events, mine),
            rate(place.events, best[peer]),
            best[peer] / mine,
            target,
            notes=() if number else (f"best of {place.repeats + WARM} rounds", *SEEN),
            profile=() if number else profile,
        )


def structured(spark: SparkSession, place: Place, asked: Windows) -> float:
    """What Structured Streaming takes, with the same trigger and the same largest micro-batch as tarnbeck."""
    with place.fresh("windows") as folder:
        settings = peers.Settings(place.log, place.topic, folder, speed.TRIGGER, speed.MOST)
        return peers.windows(spark, settings, asked.schema, asked.spark)
