"""Two versions of a view at one cut: which rows only one of them has, which differ, and in which columns."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from tarnbeck.cut import Cut
from tarnbeck.errors import NotReady
from tarnbeck.serve import held
from tarnbeck.serve.memo import Plan, memo
from tarnbeck.store import rules
from tarnbeck.store.protocol import Snapshot, Store
from tarnbeck.store.state import VersionState
from tarnbeck.window.pane import Pane

SAMPLES = 10
ALL = 1 << 62
CLOSE = 1e-9

Place = tuple[str, Pane, tuple[Any, ...], int]
"""Level, its panes, keys as users see them, start: panes of other kinds are never compared with each other."""
Rows = dict[Place, dict[str, Any]]


@dataclass(frozen=True)
class Sample:
    """One row that is not the same on both sides; None where a side lacks it."""

    level: str
    keys: tuple[Any, ...]
    start: int
    old: dict[str, Any] | None
    new: dict[str, Any] | None


@dataclass(frozen=True)
class Column:
    """How one output compares over all rows that both versions have."""

    name: str
    same: int
    differs: int


@dataclass(frozen=True)
class Comparison:
    """What comparing two versions of a view found; columns that only one of them has are named, not compared."""

    view: str
    old: int
    new: int
    cut: Cut
    rows: int
    differs: int
    only_old: int
    only_new: int
    columns: tuple[Column, ...]
    columns_old: tuple[str, ...]
    columns_new: tuple[str, ...]
    samples: tuple[Sample, ...]

    @property
    def equal(self) -> bool:
        return not (self.differs or self.only_old or self.only_new)


def compare(store: Store, view: str, old: int, new: int, *, patience: float) -> Comparison:
    """Compares what two versions of a view hold, pane by pane, at a cut that both stand at."""
    with _at_one_cut(store, view, (old, new), patience) as (before, after):
        plans = tuple(memo(store).plan(store, side.versions[view]) for side in (before, after))
        ours, theirs = _rows(before, plans[0]), _rows(after, plans[1])
        cut = before.versions[view].cut
    names = [[output.name for output in plan.view.outputs] for plan in plans]
    common = [name for name in names[0] if name in names[1]]
    differing = {place: _differing(ours[place], theirs[place], common) for place in ours.keys() & theirs.keys()}
    wrong = [place for place, columns in differing.items() if columns]
    only_old, only_new = ours.keys() - theirs.keys(), theirs.keys() - ours.keys()
    counts = {name: sum(name in columns for columns in differing.values()) for name in common}
    shown = [*sorted(wrong, key=_order)[:SAMPLES], *sorted(only_old | only_new, key=_order)[:SAMPLES]]
    return Comparison(
        view,
        old,
        new,
        cut,
        len(differing),
        len(wrong),
        len(only_old),
        len(only_new),
        tuple(Column(name, len(differing) - counts[name], counts[name]) for name in common),
        tuple(name for name in names[0] if name not in common),
        tuple(name for name in names[1] if name not in common),
        tuple(_sample(place, ours, theirs) for place in shown),
    )


@contextmanager
def _at_one_cut(
    store: Store, view: str, versions: tuple[int, int], patience: float
) -> Iterator[tuple[Snapshot, Snapshot]]:
    """A snapshot of each version: rows are a function of version and cut, so at equal cuts they are of one moment."""
    pause, waited = threading.Event(), 0.0
    while True:
        with ExitStack() as stack:
            sides = [stack.enter_context(store.snapshot([view], {view: version})) for version in versions]
            states = [side.versions[view] for side in sides]
            obstacle = _obstacle(view, states)
            if obstacle is None:
                yield sides[0], sides[1]
                return
        if waited >= patience:
            raise NotReady(obstacle)
        pause.wait(0.02)
        waited += 0.02


def _obstacle(view: str, states: list[VersionState]) -> str | None:
    for state in states:
        if not rules.answerable(state):
            return f"view '{view}': version {state.id} can't answer yet\n  build it: tarnbeck replay {view}"
    if states[0].cut != states[1].cut:
        at = " and ".join(f"version {state.id} at {state.cut}" for state in states)
        return f"view '{view}': its versions stand at different cuts: {at}\n  is the node running? see: tarnbeck status"
    return None


def _rows(snapshot: Snapshot, plan: Plan) -> Rows:
    view = plan.view
    depth, names = len(view.keys), [output.name for output in view.outputs]
    found: Rows = {}
    for level, (name, pane) in enumerate(zip(view.window.levels, view.window.panes, strict=True)):
        for at, states in held.merged(snapshot, plan, level, {}, (None, None), ALL).items():
            place = name, pane, view.read_keys(at[:depth]), int(at[-1] or 0)
            found[place] = dict(zip(names, view.finish(states), strict=True))
    return found


def _differing(old: dict[str, Any], new: dict[str, Any], names: list[str]) -> frozenset[str]:
    return frozenset(name for name in names if not same(old[name], new[name]))


def same(old: Any, new: Any) -> bool:
    """Whether two values are one result; sums of doubles may be added up in another order.

    >>> same(0.1 + 0.2, 0.3), same(1, 2), same([1.0, None], [1.0, None])
    (True, False, True)
    """
    if isinstance(old, float) and isinstance(new, float):
        return math.isclose(old, new, rel_tol=CLOSE, abs_tol=CLOSE)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(same(a, b) for a, b in zip(old, new, strict=True))
    return bool(old == new)


def _sample(place: Place, ours: Rows, theirs: Rows) -> Sample:
    level, _, keys, start = place
    return Sample(level, keys, start, ours.get(place), theirs.get(place))


def _order(place: Place) -> tuple[str, str, int]:
    return place[0], str(place[2]), place[3]
