"""Replay: from the lake, step by step and no faster than allowed, what a new version of a view lacks to answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from tarnbeck.batch.layer import Source, await_lake, partial
from tarnbeck.cut import Cut
from tarnbeck.errors import NotReady
from tarnbeck.plan.view import View
from tarnbeck.store import rules
from tarnbeck.store.definitions import view_of
from tarnbeck.store.protocol import Contribution, Refused, Replay
from tarnbeck.store.state import VersionState

STEP = 2_000_000
"""Events of one step: what a crash costs at the most."""
BURST = 5
"""Seconds of the allowed rate that one step may take at once."""


@dataclass(frozen=True)
class Pace:
    """How far a replay is: records done of all, and the seconds that the rest will take at the pace so far."""

    done: int
    records: int
    left: float | None


@dataclass(frozen=True)
class Done:
    """A version that answers now: what was replayed in this run, and from where on."""

    view: str
    version: int
    start: Cut
    cut: Cut
    records: int


def run(
    source: Source,
    version: int,
    *,
    max_rate: float | None,
    step: Callable[[str], None],
    told: Callable[[Pace], None],
    stop: threading.Event,
) -> Done:
    """Fills a version up to its own first epoch and publishes it; goes on where an earlier run was cut off.

    The speed layer has fed the version from the lowest fed cut on since it was added: at the cut where its generation
    ends, events from the lake and events from the log meet exactly.
    """
    store = source.store
    step("rolling")
    rolled, state = store.roll(version), store.versions().get(version)
    if rolled is None or state is None:
        raise NotReady(f"replay: version {version} was dropped meanwhile")
    view = view_of(state, store.streams())
    if rules.answerable(state):
        return Done(view.name, version, state.cut, state.cut, 0)
    step("waiting for the lake")
    await_lake(source, state.stream, rolled, stop)
    rolled = rolled.with_history(store.lake_cut(state.stream).history)
    replay = store.replay_generation(version, view.layout, rolled)
    if isinstance(replay, Refused):
        raise NotReady(f"replay: version {version} was dropped meanwhile")
    start = replay.done
    try:
        step("replaying")
        _fill(source, view, replay, state.origin, max_rate, told, stop)
        replay.seal()
    finally:
        replay.pause()
    step("publishing")
    outcome = store.publish(replay, leap=False)
    if isinstance(outcome, Refused):
        replay.abandon()
        raise NotReady(f"replay: view '{view.name}': not published ({outcome.reason})\n  run it again")
    return Done(view.name, version, start, replay.cut, start.span_to(replay.cut).records)


def _fill(
    source: Source,
    view: View,
    replay: Replay,
    origin: Cut,
    max_rate: float | None,
    told: Callable[[Pace], None],
    stop: threading.Event,
) -> None:
    start, began = replay.done, time.monotonic()
    records = origin.span_to(replay.cut).records
    for end in start.span_to(replay.cut).steps(_step(max_rate)):
        table = partial(source, view, replay.done, end)
        replay.write(table)
        replay.save(end)
        ours, seconds = start.span_to(end).records, time.monotonic() - began
        if max_rate is not None:
            seconds = max(seconds, ours / max_rate)
        rest = end.span_to(replay.cut).records
        told(Pace(records - rest, records, rest * seconds / ours))
        if stop.wait(max(0.0, began + seconds - time.monotonic()) if rest else 0):
            raise NotReady(f"replay: view '{view.name}': stopped at {end}\n  run it again: it goes on from there")


def _step(max_rate: float | None) -> int:
    return STEP if max_rate is None else max(1, min(STEP, int(max_rate * BURST)))


def catch_up(source: Source, version: VersionState, stop: threading.Event) -> None:
    """Brings a version that the log no longer reaches forward to where the lake is; the speed layer goes on there.

    Epochs are about the log alone: history comes with a generation.
    """
    # Form and lake of one moment: a used stream may grow at any.
    streams = source.store.streams()
    view, cut = view_of(version, streams), version.cut
    there = streams[version.stream].lake_cut.with_history(cut.history)
    for end in cut.span_to(there).steps(STEP):
        share = Contribution(version.id, cut, end, view.layout, partial(source, view, cut, end))
        if not source.store.commit(None, [share]).done or stop.is_set():
            raise NotReady(f"replay: view '{view.name}': version {version.id} moved meanwhile\n  run it again")
        cut = end
