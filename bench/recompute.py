"""Figures: freshness while the batch layer recomputes everything, or a replay runs, against freshness without."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tarnbeck as tb
from bench.declared import MINUTES
from bench.figure import Figure, Target
from bench.freshness import Spread, best, watch
from bench.place import Place
from tarnbeck.errors import NotReady
from tarnbeck.node.node import Node

TARGET = Target(2.0, least=False)
Work = Callable[[Node], object]
"""Does the work once."""


def figures(place: Place) -> Iterator[Figure]:
    """Rounds without anything, with full batches and with replays take turns on one node."""
    work: dict[str, Work] = {"recompute": _batch, "replaying": _replay}
    what = {"recompute": "full batches", "replaying": "replays of a view at full speed"}
    quiet: list[Spread] = []
    busy: dict[str, list[Spread]] = {name: [] for name in work}
    made = dict.fromkeys(work, 0)
    with place.node() as node, tb.connect(node.settings.folder) as client:
        for _ in range(place.repeats):
            quiet.append(watch(place, client))
            for name in work:
                with _working(node, work[name]) as results:
                    busy[name].append(watch(place, client))
                made[name] += len(results)
                place.tell(f"with {len(results)} {what[name]} meanwhile")
    peer = best(quiet)
    for name in work:
        ours = best(busy[name])
        yield Figure(
            name,
            f"produced to visible while {what[name]} run one after another, against without",
            str(ours),
            str(peer),
            ours.p50 / peer.p50,
            TARGET,
            notes=(f"{made[name]} {what[name]}, of at least {place.events:,} events each, were finished meanwhile",),
        )


def _batch(node: Node) -> object:
    return _done(node, {"do": "batch", "full": True})


def _replay(node: Node) -> object:
    """Builds a version beside the one that answers, and drops it again."""
    (built,) = _done(node, {"do": "replay", "view": MINUTES})["versions"]
    return _done(node, {"do": "drop", "view": MINUTES, "version": built["version"]})


def _done(node: Node, job: dict[str, Any]) -> Any:
    *_, last = node.run(job)
    if "error" in last:
        raise NotReady(f"bench: {job['do']} failed: {last['error']}\n  see the node's log")
    return last["result"]


@contextmanager
def _working(node: Node, work: Work) -> Iterator[list[object]]:
    """The same work again and again until the block ends; the result of each that was finished is in the list."""
    results: list[object] = []
    failures: list[BaseException] = []
    stop = threading.Event()

    def run() -> None:
        try:
            while not stop.is_set():
                results.append(work(node))
        except NotReady as error:
            failures.append(error)

    thread = threading.Thread(target=run, name="work")
    thread.start()
    try:
        yield results
    finally:
        stop.set()
        thread.join()
    if failures:
        raise failures[0]
