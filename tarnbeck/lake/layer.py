"""The lake layer: planned spans of every stream are written to the lake under intents, and the lake's cut follows."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tarnbeck.cut import Cut
from tarnbeck.errors import LakeError, UsageError
from tarnbeck.lake import tables as lake
from tarnbeck.lake import writer
from tarnbeck.lake.tables import Tables
from tarnbeck.log import topics
from tarnbeck.log.settings import LogSettings
from tarnbeck.spark import supervised
from tarnbeck.spark.kafka import Starts
from tarnbeck.spark.supervised import Ended, MicroBatch, Moved
from tarnbeck.store.definitions import own, stream_of
from tarnbeck.store.protocol import LAKE, Fenced, Store
from tarnbeck.store.state import Intent, StreamState

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TRIGGER = "5 seconds"
MOST = 4_000_000
MOST_BYTES = 512 << 20
"""Records and bytes of one commit at the most."""


@dataclass(frozen=True)
class Progress:
    """One span that the lake now holds."""

    stream: str
    records: int
    bytes: int
    quarantined: int


def run(
    spark: SparkSession,
    log: LogSettings,
    store: Store,
    root: str,
    folder: Path,
    stop: threading.Event,
    *,
    told: Callable[[Progress], None],
    failed: Callable[[BaseException], None],
    trigger: str = TRIGGER,
) -> None:
    """Mirrors the app's own streams into the lake until told to stop, or until another lake writer takes over."""
    layer = _Lake(spark, log, store, root, store.take_token(LAKE), told)
    query = supervised.Query(
        "lake",
        log,
        folder / "checkpoints",
        trigger,
        MOST,
        MOST_BYTES,
        starts=layer.starts,
        misplaced=layer.misplaced,
        handle=layer.handle,
        failed=failed,
    )
    supervised.run(spark, query, stop)


class _Lake:
    def __init__(
        self,
        spark: SparkSession,
        log: LogSettings,
        store: Store,
        root: str,
        token: int,
        told: Callable[[Progress], None],
    ) -> None:
        self.spark, self.log, self.store, self.root, self.token, self.told = spark, log, store, root, token, told

    def starts(self) -> Starts:
        """Every stream's lake cut, after what an earlier writer left open was finished."""
        starts: dict[str, dict[int, int]] = {}
        for name, state in own(self.store.streams()).items():
            stream = stream_of(state)
            tables = Tables(self.root, stream)
            lake.create(self.spark, tables)
            if stream.former:
                lake.grow(self.spark, tables)
            if state.intent is not None:
                self._write(state, state.intent, redo=True)
            cut = self.store.lake_cut(name)
            self._refuse_hole(name, cut, topics.beginning(self.log, stream.topic))
            starts[stream.topic] = {p: cut[p] for p in range(stream.partitions)}
        return starts

    def misplaced(self, at: Starts) -> bool:
        """Whether there is a stream that the query does not read."""
        return any(stream_of(state).topic not in at for state in own(self.store.streams()).values())

    def _refuse_hole(self, name: str, cut: Cut, first: Cut) -> None:
        if not cut.covers(first):
            raise LakeError(
                f"lake: stream '{name}': the log begins at {first}, but the lake holds events only up to {cut}\n"
                "  retention has removed events that the lake never saw; nothing is written until that is accepted:\n"
                f"  tarnbeck lake --accept-hole {name} --reason TEXT"
            )

    def handle(self, batch: MicroBatch) -> int:
        """One planned span per stream; a span without records still moves the lake's cut."""
        weight = 0
        for name, state in own(self.store.streams()).items():
            topic = stream_of(state).topic
            if topic not in batch.ends:
                raise Moved(f"lake: stream '{name}' is new")
            start = Cut.of(state.origin.topic, batch.starts.get(topic, {}))
            end = start.advance(Cut.of(state.origin.topic, batch.ends[topic]))
            if start == end:
                continue
            intent = self._open(name, start, end)
            weight += self._write(state, intent, redo=False)
        return weight

    def _open(self, name: str, start: Cut, end: Cut) -> Intent:
        try:
            intent = self.store.open_intent(self.token, name, start, end)
        except Fenced as fenced:
            raise Ended(str(fenced)) from fenced
        if intent is None:
            raise Moved(f"lake: stream '{name}' is not at {start}")
        return intent

    def _write(self, state: StreamState, intent: Intent, *, redo: bool) -> int:
        span = intent.start.span_to(intent.end)
        written = writer.write(self.spark, self.log, Tables(self.root, stream_of(state)), span, intent.id, redo=redo)
        if not self.store.close_intent(intent):
            raise Moved(f"lake: stream '{state.name}': another writer closed {span.end}")
        self.told(Progress(state.name, span.records, written.bytes, written.quarantined))
        return written.bytes


def accept_hole(spark: SparkSession, log: LogSettings, store: Store, root: str, name: str, reason: str) -> Cut:
    """Lets the lake of a stream go on where the log begins now, and records what it misses; gives the new cut."""
    state = store.streams()[name]
    stream = stream_of(state)
    first = topics.beginning(log, stream.topic)
    if state.lake_cut.covers(first):
        raise UsageError(
            f"lake: stream '{name}' has no hole: the log begins at {first}, the lake holds events up to "
            f"{state.lake_cut}\n  there is nothing to accept"
        )
    if state.intent is None:
        return store.accept_hole(name, first, reason)
    writer.bar(spark, Tables(root, stream), state.intent.start.span_to(state.intent.end), state.intent.id)
    return store.accept_hole(name, first, reason, barred=state.intent.id)
