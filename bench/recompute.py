"""Figure: freshness while the batch layer recomputes everything in full, against freshness without."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import tarnbeck as tb
from bench.figure import Figure, Target
from bench.freshness import best, watch
from bench.place import Place
from tarnbeck.errors import NotReady
from tarnbeck.node.node import Node

TARGET = Target(2.0, least=False)
JOB = {"do": "batch", "full": True}


def figures(place: Place) -> Iterator[Figure]:
    """Rounds with and without a recompute take turns on one node."""
    quiet, busy, made = [], [], 0
    with place.node() as node, tb.connect(node.settings.folder) as client:
        for _ in range(place.repeats):
            quiet.append(watch(place, client))
            with _recomputing(node) as results:
                busy.append(watch(place, client))
            made += len(results)
            place.tell(f"with {len(results)} full batches meanwhile")
    ours, peer = best(busy), best(quiet)
    yield Figure(
        "recompute",
        "produced to visible while full batches run one after another, against without",
        str(ours),
        str(peer),
        ours.p50 / peer.p50,
        TARGET,
        notes=(f"{made} full batches of both views, from {place.events:,} events each, were published meanwhile",),
    )


@contextmanager
def _recomputing(node: Node) -> Iterator[list[object]]:
    """Full batches of all views, one after another, until the block ends; each that was published is in the list."""
    results: list[object] = []
    failures: list[object] = []
    stop = threading.Event()

    def run() -> None:
        while not stop.is_set() and not failures:
            for update in node.run(dict(JOB)):
                if "error" in update:
                    failures.append(update["error"])
                elif "result" in update:
                    results.append(update["result"])

    thread = threading.Thread(target=run, name="recompute")
    thread.start()
    try:
        yield results
    finally:
        stop.set()
        thread.join()
    if failures:
        raise NotReady(f"bench: a full batch failed: {failures[0]}\n  see the node's log")
