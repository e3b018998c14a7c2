"""The speed layer: micro-batches of the log become partials, committed with their cut, view by view."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from tarnbeck.cut import Cut
from tarnbeck.log import topics
from tarnbeck.log.settings import LogSettings
from tarnbeck.schema.stream import Stream
from tarnbeck.spark import supervised
from tarnbeck.spark.kafka import Counter, Starts
from tarnbeck.spark.supervised import Ended, MicroBatch, Moved
from tarnbeck.speed import kernel
from tarnbeck.speed.kernel import Feed
from tarnbeck.store import foreign
from tarnbeck.store.definitions import fits, stream_of, view_of
from tarnbeck.store.protocol import SPEED, Contribution, Fenced, Store
from tarnbeck.store.state import StreamState, VersionState

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TRIGGER = "100 milliseconds"
MOST = 1_000_000
MOST_BYTES = 128 << 20
"""Records and bytes of one micro-batch at the most: a backlog is taken in steps that end soon."""
FEW = 5_000
FEW_BYTES = 8 << 20
"""Records and bytes up to which this process computes by itself: the way to a worker would take longer."""


Why = tuple[Cut, str]
"""The cut of a version that was left out, and the form of its stream: one of the two must change before it is fed."""


@dataclass(frozen=True)
class Progress:
    """What one micro-batch did, told to whoever shows the status."""

    records: int
    bytes: int
    versions: int


def run(
    spark: SparkSession,
    log: LogSettings,
    store: Store,
    folder: Path,
    stop: threading.Event,
    *,
    told: Callable[[Progress], None],
    failed: Callable[[BaseException], None],
    most: int = MOST,
) -> None:
    """Feeds every version until told to stop, or until another speed layer takes over."""
    layer = _Speed(log, store, store.take_token(SPEED), told, Counter(spark))
    query = supervised.Query(
        "speed",
        log,
        folder / "checkpoints",
        TRIGGER,
        most,
        MOST_BYTES,
        starts=layer.starts,
        misplaced=layer.misplaced,
        handle=layer.handle,
        failed=failed,
    )
    supervised.run(spark, query, stop)


class _Speed:
    def __init__(
        self, log: LogSettings, store: Store, token: int, told: Callable[[Progress], None], weighed: Counter
    ) -> None:
        self.log, self.store, self.token, self.told, self.weighed = log, store, token, told, weighed
        self.left_out: dict[int, Why] = {}

    def starts(self) -> Starts:
        """The lowest cut of the fed versions of each stream; a version that the log no longer reaches is left out.

        So are those of a used stream that has grown in a way that one of them can't take.
        """
        streams = self.store.streams()
        self.left_out = {}
        lowest: dict[str, Cut] = {}
        partitions: dict[str, int] = {}
        for name, state in streams.items():
            stream, fed = stream_of(state), self.store.fed(name)
            if fed and not foreign.unchanged(stream):
                lost = _stalled(stream, fed)
            else:
                first = topics.beginning(self.log, stream.topic)
                lost = [version for version in fed if not version.cut.covers(first)]
            self.left_out |= {version.id: _why(version, streams) for version in lost}
            for version in fed:
                if version.id not in self.left_out:
                    # Several streams may stand for one topic.
                    lowest[stream.topic] = lowest.get(stream.topic, version.cut).meet(version.cut)
                    partitions[stream.topic] = stream.partitions
        return {topic: {p: low[p] for p in range(partitions[topic])} for topic, low in lowest.items()}

    def misplaced(self, at: Starts) -> bool:
        """Whether a version can't be fed by a query that stands there."""
        streams = self.store.streams()
        places = {name: _place(state, at) for name, state in streams.items() if stream_of(state).topic in at}
        try:
            return bool(_behind(self._fed(streams), places))
        except Moved:
            return True

    def _fed(self, streams: Mapping[str, StreamState]) -> list[VersionState]:
        """The versions that this query feeds; it starts anew when one that was left out can be fed again."""
        fed = self.store.fed()
        again = [v.view for v in fed if v.id in self.left_out and self.left_out[v.id] != _why(v, streams)]
        if again:
            raise Moved(f"speed: {', '.join(again)} can be fed again")
        return [version for version in fed if version.id not in self.left_out]

    def handle(self, batch: MicroBatch) -> int:
        """One micro-batch: compute every fed version from its own cut, commit all in one transaction."""
        before = self.weighed.value
        streams = self.store.streams()
        fed = self._fed(streams)
        spans = {name: _span(state, batch) for name, state in streams.items() if stream_of(state).topic in batch.ends}
        for name in {version.stream for version in fed} & spans.keys():
            if not foreign.unchanged(stream_of(streams[name])):
                raise Moved(f"speed: stream '{name}' is read otherwise now")
        behind = _behind(fed, {name: start for name, (start, _) in spans.items()})
        if behind:
            raise Moved(f"speed: {', '.join(behind)} must be fed from further back")
        records = sum(start.span_to(end).records for start, end in spans.values())
        here = records <= FEW and records * (batch.size or 0) <= FEW_BYTES
        partials = _compute(batch.records, _feeds(fed, streams), self.weighed, here=here)
        contributions = []
        for version in fed:
            view = view_of(version, streams)
            tables = partials.get(version.id, [])
            partial = pa.concat_tables(tables) if tables else view.layout.arrow.empty_table()
            end = spans[version.stream][1]
            contributions.append(Contribution(version.id, version.cut, end, view.layout, partial))
        try:
            committed = self.store.commit(self.token, contributions)
        except Fenced as fenced:
            raise Ended(str(fenced)) from fenced
        self.told(Progress(records, self.weighed.value - before, len(committed.done)))
        if committed.refused:
            raise Moved(f"speed: {len(committed.refused)} versions moved meanwhile")
        return self.weighed.value - before


def _why(version: VersionState, streams: Mapping[str, StreamState]) -> Why:
    return version.cut, streams[version.stream].definition


def _stalled(stream: Stream, fed: Sequence[VersionState]) -> Sequence[VersionState]:
    """The versions over a used stream whose new form one of them does not fit; if all do, it is about to be taken."""
    grown = foreign.now(stream)
    if grown.growing or all(fits(version, grown.stream) for version in fed):
        raise foreign.changed(stream)
    return fed


def _feeds(fed: list[VersionState], streams: Mapping[str, StreamState]) -> dict[str, list[Feed]]:
    """What the kernel computes from each topic."""
    feeds: dict[str, list[Feed]] = {}
    for name, state in streams.items():
        mine = [(version.id, version.cut, view_of(version, streams)) for version in fed if version.stream == name]
        if mine:
            stream = stream_of(state)
            feeds.setdefault(stream.topic, []).append(kernel.feed(stream, mine))
    return feeds


def _compute(
    records: DataFrame, feeds: Mapping[str, list[Feed]], weighed: Counter, *, here: bool
) -> dict[int, list[pa.Table]]:
    """The partials of each version: few records are computed here, many where Spark reads them."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return kernel.run(feeds, batches, weighed.add)

    records = records.drop("key")
    if here:
        found_here = run(iter(records.coalesce(1).toArrow().to_batches()))
        rows = pa.Table.from_batches(found_here, schema=kernel.OUTPUT).to_pylist()
    else:
        rows = records.mapInArrow(run, from_arrow_schema(kernel.OUTPUT)).collect()
    found: dict[int, list[pa.Table]] = {}
    for row in rows:
        found.setdefault(row["version"], []).append(kernel.unpack(bytes(row["partial"])))
    return found


def _behind(fed: Sequence[VersionState], starts: Mapping[str, Cut]) -> list[str]:
    """The views whose next events lie before where the query reads their stream, or that it does not read at all."""
    return [v.view for v in fed if v.stream not in starts or not v.cut.covers(starts[v.stream])]


def _span(state: StreamState, batch: MicroBatch) -> tuple[Cut, Cut]:
    start = _place(state, batch.starts)
    return start, start.advance(_place(state, batch.ends))


def _place(state: StreamState, offsets: Starts) -> Cut:
    return Cut.of(state.origin.topic, offsets.get(stream_of(state).topic, {}))
