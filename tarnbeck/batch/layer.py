"""The batch layer: from the lake, a view's complete partial up to a cut, published as its generation."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from tarnbeck.cut import Cut
from tarnbeck.errors import NotReady, StoreError
from tarnbeck.lake import tables as lake
from tarnbeck.lake.tables import Tables
from tarnbeck.log import topics
from tarnbeck.log.settings import LogSettings
from tarnbeck.plan.view import View
from tarnbeck.spark.partials import partials
from tarnbeck.store import clock
from tarnbeck.store.definitions import stream_of, view_of
from tarnbeck.store.protocol import Published, Refused, Store
from tarnbeck.store.state import StreamState

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FAR = 500_000
"""Records that a view must be behind the lake for a leap to be worth it: a refused one is computed twice."""
PATIENCE = 120.0
"""Seconds that the lake may take to cover what it is asked for."""
ROWS = 200_000
"""Rows of a partial that are handed to the store at once."""


@dataclass(frozen=True)
class Source:
    """What a batch reads and writes."""

    spark: SparkSession
    log: LogSettings
    store: Store
    root: str


@dataclass(frozen=True)
class Done:
    """A published generation: what it covers, and how it was made."""

    view: str
    cut: Cut
    full: bool
    records: int
    rows: int


Step = Callable[[str], None]
"""Told what the batch does now."""


def run(source: Source, version: int, *, full: bool, step: Step, stop: threading.Event) -> Done:
    """Builds and publishes one version's generation: in full, or from the last one and the span since."""
    store = source.store
    step("rolling")
    rolled = store.roll(version)
    state = store.versions().get(version)
    if rolled is None or state is None:
        raise NotReady(f"batch: version {version} was dropped meanwhile")
    for leap in (True, False):
        cut = _target(source, store.streams()[state.stream], rolled, leap)
        if cut is None:
            continue
        step("waiting for the lake")
        await_lake(source, state.stream, cut, stop)
        outcome = _build(source, version, cut, full=full, leap=leap, step=step)
        if isinstance(outcome, Done):
            return outcome
        if not (leap and outcome.reason == "leap"):
            raise NotReady(f"batch: view '{state.view}': not published ({outcome.reason})\n  run it again")
    raise NotReady(f"batch: view '{state.view}': not published\n  run it again")


def _target(source: Source, stream: StreamState, rolled: Cut, leap: bool) -> Cut | None:
    """Where the generation ends: at the rolled cut, or, for a view left far behind, at the lake's, to leap there.

    A view that the log no longer reaches can only go on by a leap. What the lake has of the stream's history, the
    generation has too.
    """
    lake = stream.lake_cut
    rolled = rolled.with_history(lake.history)
    if not leap:
        return rolled
    if not lake.covers(rolled) or rolled == lake:
        return None
    lost = not rolled.covers(topics.beginning(source.log, stream_of(stream).topic))
    return lake if lost or rolled.span_to(lake).records > FAR else None


def await_lake(source: Source, stream: str, cut: Cut, stop: threading.Event) -> None:
    """Until the lake holds all events below the cut."""
    waited = 0.0
    while not source.store.lake_cut(stream).covers(cut):
        if waited >= PATIENCE or stop.wait(0.1):
            raise NotReady(
                f"batch: the lake of stream '{stream}' is at {source.store.lake_cut(stream)}, not yet at {cut}\n"
                f"  waited {waited:.0f} s; is the lake writer running? see: tarnbeck status"
            )
        waited += 0.1


def _build(source: Source, version_id: int, cut: Cut, *, full: bool, leap: bool, step: Step) -> Done | Refused:
    store = source.store
    version = store.versions().get(version_id)
    if version is None:
        return Refused("gone")
    streams = store.streams()
    view = view_of(version, streams)
    base = None if full else version.generation
    start = version.origin if base is None else base.cut
    if not cut.covers(start):
        raise StoreError(f"batch: view '{view.name}': its generation at {start} is ahead of {cut}; run it again")
    if base is not None and base.cut == cut:
        return Done(view.name, cut, full=False, records=0, rows=0)
    building = store.begin_generation(version.id, view.layout, cut, None if base is None else base.id)
    if isinstance(building, Refused):
        return building
    try:
        step("computing")
        rows = 0
        found = partial(source, view, start, cut)
        step("writing")
        with store.snapshot([view.name], {view.name: version.id}) as snapshot:
            arrived = clock.newest(snapshot, view)
        found = clock.trimmed(building, view, arrived, found)
        for slice_ in range(0, found.num_rows, ROWS):
            building.write(found.slice(slice_, ROWS))
            building.renew()
            rows += min(ROWS, found.num_rows - slice_)
        building.seal()
    except BaseException:
        building.abandon()
        raise
    step("publishing")
    outcome = store.publish(building, leap)
    if isinstance(outcome, Published):
        return Done(view.name, cut, base is None, start.span_to(cut).records, rows)
    building.abandon()
    return outcome


def partial(source: Source, view: View, start: Cut, cut: Cut) -> pa.Table:
    """A view's partial over a span of the lake."""
    events = lake.read(source.spark, Tables(source.root, view.stream), start.span_to(cut))
    return partials(view, events).toArrow().cast(view.layout.arrow)
