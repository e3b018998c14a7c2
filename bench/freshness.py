"""Figure: how long after an event was produced a query shows it, against the trigger time of an empty query."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import tarnbeck as tb
from bench import peers
from bench.declared import LATEST
from bench.feed import PROBE, RATE, Feed, Stamps
from bench.figure import Figure, Target, percentile
from bench.place import Place
from tarnbeck.errors import NotReady
from tarnbeck.serve.client import Client
from tarnbeck.speed import layer as speed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

TARGET = Target(2.5, least=False)
POLL = 0.005
SETTLING = 5.0
"""Seconds at the beginning of a round that don't count."""
LATEST_BY = 60.0
"""Seconds after which a probe that is still not visible counts as lost."""


@dataclass(frozen=True)
class Spread:
    """Milliseconds."""

    p50: float
    p99: float

    def __str__(self) -> str:
        return f"{self.p50:.0f} ms (p99 {self.p99:.0f})"


def figure(place: Place) -> Figure:
    """A node with two views at 1,000 events/s; then, without the node, queries that do nothing, at the same rate."""
    with place.node() as node, tb.connect(node.settings.folder) as client:
        ours = best([watch(place, client) for _ in range(place.repeats)])
    with place.spark("freshness") as spark:
        empty = best([_triggers(spark, place, peers.empty) for _ in range(place.repeats)])
        reading = best([_triggers(spark, place, peers.reading) for _ in range(place.repeats)])
    return Figure(
        "freshness",
        f"produced to visible for a query at {RATE:,} events/s, against the trigger of an empty foreachBatch query",
        str(ours),
        str(empty),
        ours.p50 / empty.p50,
        TARGET,
        notes=(
            f"a foreachBatch that reads its records and drops them takes {reading} per trigger: "
            f"tarnbeck's freshness is {ours.p50 / reading.p50:.2f}x of that",
        ),
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
