"""What holds once it is known: the plan of a version, the value of a state, the rows of a version at a cut."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

from tarnbeck.algebra.state import Raw
from tarnbeck.cut import Cut
from tarnbeck.plan.view import View, columns_of
from tarnbeck.schema.types import Type
from tarnbeck.serve import moment
from tarnbeck.serve.shape import Shape, derive
from tarnbeck.store import clock
from tarnbeck.store.definitions import view_of
from tarnbeck.store.protocol import Snapshot, Store
from tarnbeck.store.state import VersionState
from tarnbeck.window.window import Sliding

_STATES = 8192
"""Finished states kept for each version: most windows of a question are the same a moment later."""
_WINDOWS = 1 << 16
"""Bounds of windows kept for each level: a month of minutes, which many keys share."""
_ANSWERS = 256
_SHAPES = 64
_PARTS = 1024
_SMALL = 200
"""Rows of the largest answer that is kept."""

Row = tuple[Any, ...]
Found = tuple[list[Row], bool]
"""The rows of an answer, and whether there are more."""


@dataclass(frozen=True)
class Plan:
    """A version's view, ready to answer."""

    view: View
    columns: tuple[tuple[str, Type], ...]
    finish: Callable[[tuple[Raw, ...]], Row]
    read_keys: Callable[[tuple[Raw, ...]], Row]
    windows: tuple[Callable[[int], Row], ...]
    """Of each level: start and end of the window that starts then, as users see them; a session's end is not known."""
    stored: View | None = None
    """The view whose states are read, where this plan is derived from another."""
    table: View | None = None
    """What is stored, where the view is answered from the rows of a table that hold."""


class Memo:
    """What one store has been asked; for any number of threads."""

    def __init__(self) -> None:
        self._plans: dict[int, Plan] = {}
        self._shaped: OrderedDict[Hashable, Plan] = OrderedDict()
        self._answers: OrderedDict[Hashable, Found] = OrderedDict()
        self._arrived: dict[int, tuple[Cut, int | None]] = {}
        self._newest: OrderedDict[Hashable, int | None] = OrderedDict()
        self._lock = threading.Lock()

    def plan(self, store: Store, version: VersionState) -> Plan:
        """Ids of versions are never used again, so a plan that was read once holds as long as the store."""
        known = self._plans.get(version.id)
        if known is None:
            view = view_of(version, store.streams())
            shown = view if view.table is None else view.table.over
            table = None if view.table is None else view
            known = self._plans[version.id] = replace(plan_of(shown), table=table)
        return known

    def arrived(self, snapshot: Snapshot, view: View) -> int | None:
        """The newest arrival of a view, which is a function of its version and cut."""
        version = snapshot.versions[view.name]
        known = self._arrived.get(version.id)
        if known is None or known[0] != version.cut:
            known = self._arrived[version.id] = version.cut, clock.newest(snapshot, view)
        return known[1]

    def shaped(self, version: VersionState, view: View, shape: Shape, level: int) -> Plan:
        """The plan of an answer that is coarser than the view."""
        asked = version.id, shape.by, shape.every, shape.one, shape.ask, shape.bounds, level
        with self._lock:
            known = self._shaped.get(asked)
        if known is None:
            known = replace(plan_of(derive(view, shape, level)), stored=view)
            with self._lock:
                self._shaped[asked] = known
                if len(self._shaped) > _SHAPES:
                    self._shaped.popitem(last=False)
        return known

    def newest(self, snapshot: Snapshot, version: VersionState) -> int | None:
        """The newest pane of a version over all keys; a generation and a closed epoch are looked at only once."""
        parts = [(epoch.id, "open" if epoch.open else "epoch") for epoch in version.epochs]
        if version.generation is not None:
            parts.append((version.generation.id, "generation"))
        found = [self._newest_of(snapshot, version.view, id_, kind) for id_, kind in parts]
        return max((each for each in found if each is not None), default=None)

    def _newest_of(self, snapshot: Snapshot, view: str, id_: int, kind: str) -> int | None:
        with self._lock:
            if (kind, id_) in self._newest:
                return self._newest[kind, id_]
        found = snapshot.newest(view, None if kind == "generation" else id_)
        if kind != "open":
            with self._lock:
                self._newest[kind, id_] = found
                if len(self._newest) > _PARTS:
                    self._newest.popitem(last=False)
        return found

    def answered(self, asked: Hashable) -> Found | None:
        with self._lock:
            found = self._answers.get(asked)
            if found is not None:
                self._answers.move_to_end(asked)
            return found

    def keep(self, asked: Hashable, found: Found) -> None:
        if len(found[0]) <= _SMALL:
            with self._lock:
                self._answers[asked] = found
                if len(self._answers) > _ANSWERS:
                    self._answers.popitem(last=False)


def plan_of(view: View) -> Plan:
    return Plan(
        view,
        columns_of(view),
        view.finish if view.plain else lru_cache(maxsize=_STATES)(view.finish),
        lru_cache(maxsize=_STATES)(view.read_keys),
        tuple(lru_cache(maxsize=_WINDOWS)(partial(_window, end_of)) for end_of in _ends(view)),
    )


def _ends(view: View) -> list[Callable[[int], int | None]]:
    """Of each level: from a window's start to its end."""
    window = view.window
    return [window.end_of] if isinstance(window, Sliding) else [pane.end_of for pane in window.panes]


def _window(end_of: Callable[[int], int | None], start: int) -> Row:
    end = end_of(start)
    return () if end is None else moment.bounds(start, end)


_MEMOS: weakref.WeakKeyDictionary[Store, Memo] = weakref.WeakKeyDictionary()


def memo(store: Store) -> Memo:
    """What is known of a store; it is forgotten with the store."""
    known = _MEMOS.get(store)
    return _MEMOS.setdefault(store, Memo()) if known is None else known
