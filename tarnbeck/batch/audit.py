"""The audit: a recount of the raw events at the cut of an answer, compared with what was served, row by row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tarnbeck.algebra.state import Raw
from tarnbeck.batch.layer import Source
from tarnbeck.cut import Cut
from tarnbeck.errors import NotReady, UsageError, unknown
from tarnbeck.lake import tables as lake
from tarnbeck.lake.tables import Tables
from tarnbeck.log import topics
from tarnbeck.plan.keep import CLOCK, kept, newest_of
from tarnbeck.plan.view import View
from tarnbeck.spark import kafka
from tarnbeck.spark.partials import partials
from tarnbeck.store import rules
from tarnbeck.store.definitions import view_of
from tarnbeck.store.protocol import Snapshot
from tarnbeck.store.rows import Place, from_arrow
from tarnbeck.store.state import VersionState

SAMPLES = 10
States = tuple[Raw, ...]
Rows = dict[tuple[int, tuple[Raw, ...], int], States]
"""Level, raw keys, pane -> states."""


@dataclass(frozen=True)
class Difference:
    """One row that is not as a recount has it; None where a side lacks it."""

    keys: tuple[Any, ...]
    level: str
    start: int
    served: tuple[Any, ...] | None
    recount: tuple[Any, ...] | None


@dataclass(frozen=True)
class Audit:
    """What the comparison of one view found."""

    view: str
    cut: Cut
    rows: int
    differs: int
    only_served: int
    only_recount: int
    samples: tuple[Difference, ...]

    @property
    def equal(self) -> bool:
        return not (self.differs or self.only_served or self.only_recount)


def run(source: Source, view_name: str, *, step: Callable[[str], None]) -> Audit:
    """Recounts one view at the cut it answers at now."""
    step("reading the answer")
    with source.store.snapshot([view_name]) as snapshot:
        if view_name not in snapshot.versions:
            known = source.store.aliases()
            raise UsageError(unknown("audit", "view", view_name, known, "the application"))
        version = snapshot.versions[view_name]
        if not rules.answerable(version):
            raise NotReady(f"audit: view '{view_name}' is building: there is no answer yet to audit")
        view = view_of(version, source.store.streams())
        found = served(snapshot, view)
    step("recounting")
    return compare(view, version.cut, found, recount(source, view, version))


def served(snapshot: Snapshot, view: View) -> Rows:
    """The merged states that answers are made of, of all levels."""
    depth = len(view.keys)
    found: Rows = {}
    for level in (*range(len(view.window.panes)), CLOCK):
        for part in snapshot.parts(view.name, level=level):
            for row in part:
                place = (level, row[:depth], int(row[depth + 1] or 0))
                states = row[depth + 2 :]
                found[place] = view.layout.merge(found[place], states) if place in found else states
    return found


def recount(source: Source, view: View, version: VersionState) -> Rows:
    """The view from scratch: from the log as far back as it reaches; what is below, or was in files, from the lake."""
    stream, origin, cut = view.stream, version.origin, version.cut
    tables = Tables(source.root, stream)
    low = origin.advance(topics.beginning(source.log, stream.topic)).meet(cut).with_history(cut.history)
    records = kafka.at_rest(source.spark, source.log, stream.topic, low.span_to(cut), range(stream.partitions))
    events = kafka.decoded(records, stream, tables.events_type)
    if low != origin:
        events = lake.read(source.spark, tables, origin.span_to(low)).unionByName(events)
    table = partials(view, events).toArrow().cast(view.layout.arrow)
    parted = from_arrow(table, view.layout)
    return {_place(place, parted.keys): states for place, states in parted.states.items()}


def _place(place: Place, keys: dict[bytes, tuple[Raw, ...]]) -> tuple[int, tuple[Raw, ...], int]:
    level, key, pane = place
    return level, keys[key], pane


def compare(view: View, cut: Cut, served: Rows, recounted: Rows) -> Audit:
    """Every row that is still kept of both sides, by each state's own equality."""
    served, recounted = _kept(view, served, recounted), _kept(view, recounted, recounted)
    differs = [p for p, states in served.items() if p in recounted and not view.equal(states, recounted[p])]
    only_served = served.keys() - recounted.keys()
    only_recount = recounted.keys() - served.keys()
    wrong = [*differs, *only_served, *only_recount]
    samples = tuple(_difference(view, place, served, recounted) for place in wrong[:SAMPLES])
    return Audit(view.name, cut, len(recounted), len(differs), len(only_served), len(only_recount), samples)


def _kept(view: View, rows: Rows, recounted: Rows) -> Rows:
    """Without the panes that no answer at this cut shows, for they may be removed, or not yet."""
    if view.clock is None:
        return rows
    newest = newest_of(view, (states for (level, _, _), states in recounted.items() if level == CLOCK))
    bounds = [kept(view, level, newest) for level in range(len(view.window.panes))]
    first = {level: bound.pane for level, bound in enumerate(bounds) if bound is not None}
    return {place: states for place, states in rows.items() if place[0] not in first or place[2] >= first[place[0]]}


def _difference(view: View, place: tuple[int, tuple[Raw, ...], int], served: Rows, recounted: Rows) -> Difference:
    level, keys, start = place
    ours, theirs = served.get(place), recounted.get(place)
    return Difference(
        view.read_keys(keys),
        "clock" if level == CLOCK else view.window.levels[level],
        start,
        None if ours is None else view.finish(ours),
        None if theirs is None else view.finish(theirs),
    )
