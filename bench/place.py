"""Where a figure is measured: the folder, the filled topic, and what is started there and stopped again."""

from __future__ import annotations

import importlib
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, cast

from bench.declared import STREAM, declare
from bench.figure import Figure
from tarnbeck.cut import Cut
from tarnbeck.errors import NotReady
from tarnbeck.log import topics
from tarnbeck.log.settings import LogSettings
from tarnbeck.node.node import Node
from tarnbeck.node.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE = 900.0
"""Seconds a node may take to catch up with the backlog."""


@dataclass(frozen=True)
class Place:
    """The topic holds `events` events up to `end` when the first figure starts; later ones may add to it."""

    folder: Path
    log: LogSettings
    topic: str
    events: int
    end: Cut
    repeats: int
    seconds: float
    """How long figures that watch a steady flow watch it, each round."""

    def tell(self, text: str) -> None:
        print(f"  {text}", flush=True)

    @contextmanager
    def fresh(self, name: str) -> Iterator[Path]:
        """A new folder, gone afterwards."""
        path = self.folder / f"{name}-{uuid.uuid4().hex[:8]}"
        path.mkdir(parents=True)
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)

    @contextmanager
    def spark(self, name: str) -> Iterator[SparkSession]:
        """A session with tarnbeck's own settings, for both sides alike."""
        from tarnbeck.spark.session import session

        made = session(
            f"bench-{name}", folder=self.folder, conf={"spark.sql.streaming.numRecentProgressUpdates": "10000"}
        )
        try:
            yield made
        finally:
            made.stop()

    @contextmanager
    def node(self) -> Iterator[Node]:
        """A whole node on the topic that has caught up with it; figures that need one share its data."""
        settings = Settings(folder=self.folder / "node", broker=self.log.bootstrap, port=0)
        with Node(settings, declare(self.topic)) as node:
            node.start(self.tell)
            self._await(node)
            yield node

    def _await(self, node: Node) -> None:
        end, deadline = topics.end(self.log, self.topic), time.monotonic() + PATIENCE
        pause = threading.Event()
        while not all(cut.covers(end) for cut in _cuts(node)):
            if time.monotonic() > deadline:
                raise NotReady(
                    f"bench: the node did not catch up within {PATIENCE:.0f} s\n  see {node.settings.folder}"
                )
            pause.wait(0.2)
        self.tell("the node has caught up")


def _cuts(node: Node) -> list[Cut]:
    return [node.store.lake_cut(STREAM), *(version.cut for version in node.store.fed(STREAM))]


def measured(name: str, place: Place, told: Connection) -> None:
    """Measures the figures of this name, by their module: where a process that was started for them begins."""
    figures = cast("Callable[[Place], Iterator[Figure]]", importlib.import_module(f"bench.{name}").figures)
    told.send(list(figures(place)))
