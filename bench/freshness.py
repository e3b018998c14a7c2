"""Figure: how long after an event was produced a query shows it, against the trigger time of an empty query."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import tarnbeck as tb
from bench import peers
from bench.declared import LATEST, declare
from bench.feed import PROBE, RATE, Feed, Stamps
from bench.figure import Figure, Target, percentile
from bench.place import Place
from tarnbeck.errors import NotReady
from tarnbeck.log import topics
from tarnbeck.node.register import register
from tarnbeck.serve.client import Client
from tarnbeck.serve.clock import now
from tarnbeck.spark.session import SETTINGS
from tarnbeck.speed import layer as speed
from tarnbeck.store.sqlite import SQLiteStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

TARGET = Target(2.5, least=False)
POLL = 0.005
SETTLING = 5.0
"""Seconds at the beginning of a round that don't count."""
STEPS = ("triggerExecution", "latestOffset", "queryPlanning", "walCommit", "addBatch", "commitOffsets")
STEADY = 100
"""Triggers at the end of a round of which a profile is made."""
CHECKPOINTS = tuple(name for name in SETTINGS if name.startswith("spark.sql.streaming.checkpoint"))
LATEST_BY = 60.0
"""Seconds after which a probe that is still not visible counts as lost."""


@dataclass(frozen=True)
class Spread:
    """Milliseconds."""

    p50: float
    p99: float

    def __str__(self) -> str:
        return f"{self.p50:.0f} ms (p99 {self.p99:.0f})"


def figures(place: Place) -> Iterator[Figure]:
    """A node with two views at 1,000 events/s; then, without the node, queries that do nothing, at the same rate."""
    with place.node() as node, tb.connect(node.settings.folder) as client:
        ours = best([watch(place, client) for _ in range(place.repeats)])
    with place.spark("freshness") as spark:
        tuned = best([_triggers(spark, place, peers.empty) for _ in range(place.repeats)])
        reading = best([_triggers(spark, place, peers.reading) for _ in range(place.repeats)])
        profile = _profile(spark, place)
        for name in CHECKPOINTS:
            spark.conf.unset(name)
        empty = best([_triggers(spark, place, peers.empty) for _ in range(place.repeats)])
    yield Figure(
        "freshness",
        f"produced to visible for a query at {RATE:,} events/s, against the trigger of an empty foreachBatch query",
        str(ours),
        str(empty),
        ours.p50 / empty.p50,
        TARGET,
        notes=(
            "the peer has Spark's own checkpoint settings; with tarnbeck's, which make the peer faster too, an empty "
            f"trigger takes {tuned}: tarnbeck's freshness is {ours.p50 / tuned.p50:.2f}x of that",
            f"a foreachBatch that reads its records and drops them, with tarnbeck's settings, takes {reading} per "
            f"trigger: tarnbeck's freshness is {ours.p50 / reading.p50:.2f}x of that",
            "an event waits for half a trigger on average before the trigger that takes it begins",
        ),
        profile=profile,
    )


def best(rounds: list[Spread]) -> Spread:
    return min(rounds, key=lambda spread: spread.p50)


def watch(place: Place, client: Client) -> Spread:
    """How long each probe took to become visible in one round."""
    seen: list[tuple[int, int]] = []
    pause = threading.Event()
    with Feed(place.log, place.topic) as feed:
        until = time.monotonic() + SETTLING + place.seconds
        while time.monotonic() < until:
            seen.append(_look(client))
            pause.wait(POLL)
        feed.stop()
        last, deadline = int(feed.probes[-1]), time.monotonic() + LATEST_BY
        while seen[-1][1] < last:
            if time.monotonic() > deadline:
                raise NotReady(f"bench: a probe was not visible after {LATEST_BY:.0f} s\n  see the node's log")
            seen.append(_look(client))
            pause.wait(POLL)
    spread = spread_of(feed.probes, np.array(seen, np.int64))
    place.tell(f"visible after {spread}")
    return spread


def _look(client: Client) -> tuple[int, int]:
    """The newest visible probe, and when it was seen: after the answer, so that the query's own time counts."""
    rows = client.query(LATEST, key=PROBE).dicts()
    return time.time_ns() // 1000, rows[0]["seq"] if rows else 0


def spread_of(probes: Stamps, seen: Stamps) -> Spread:
    """How long each probe took to be seen, from `seen`: pairs of a moment and the newest probe visible then."""
    counted = probes[probes >= probes[0] + int(SETTLING * 1e6)]
    visible = seen[np.searchsorted(seen[:, 1], counted), 0]
    waits = ((visible - counted) / 1000).tolist()
    return Spread(percentile(waits, 50), percentile(waits, 99))


def _profile(spark: SparkSession, place: Place) -> tuple[str, ...]:
    """The steps of the speed layer's own triggers, by Spark's clock: alone, without the lake and without queries."""
    stop, failures = threading.Event(), list[BaseException]()
    with place.fresh("profile") as folder:
        store = SQLiteStore(folder / "store", now)
        register(declare(place.topic), store, place.log)
        layer = threading.Thread(
            target=speed.run,
            args=(spark, place.log, store, folder, stop),
            kwargs={"told": lambda _: None, "failed": failures.append},
        )
        layer.start()
        try:
            end, pause = topics.end(place.log, place.topic), threading.Event()
            while not failures and not all(version.cut.covers(end) for version in store.fed()):
                pause.wait(0.1)
            with Feed(place.log, place.topic):
                pause.wait(SETTLING + place.seconds)
                (query,) = (query for query in spark.streams.active if query.name == "speed")
                found = [dict(progress["durationMs"]) for progress in query.recentProgress[-STEADY:]]
        finally:
            stop.set()
            layer.join()
            store.close()
    if failures:
        raise NotReady(f"bench: the speed layer failed: {failures[0]}")
    return tuple(f"{step}: {percentile([each[step] for each in found], 50):.0f} ms" for step in STEPS)


def _triggers(spark: SparkSession, place: Place, start: Callable[..., StreamingQuery]) -> Spread:
    """The trigger times of a peer's query in one round."""
    with place.fresh("trigger") as folder, Feed(place.log, place.topic) as feed:
        query = start(spark, place.log, place.topic, folder, speed.TRIGGER)
        try:
            query.awaitTermination(SETTLING)
            before = len(peers.triggers(query))
            query.awaitTermination(place.seconds)
            found = peers.triggers(query)[before:]
            # A query that is stopped in the middle of a batch fills the screen with traces.
            feed.stop()
            query.processAllAvailable()
        finally:
            query.stop()
    spread = Spread(percentile(found, 50), percentile(found, 99))
    place.tell(f"{start.__name__} query: a trigger takes {spread}, {len(found)} triggers")
    return spread
