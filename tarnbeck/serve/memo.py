"""What holds once it is known: the plan of a version, the value of a state, the rows of a version at a cut."""

from __future__ import annotations

import datetime
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from tarnbeck.algebra.state import Raw
from tarnbeck.plan.view import View
from tarnbeck.schema import types
from tarnbeck.schema.types import Type
from tarnbeck.store.definitions import view_of
from tarnbeck.store.protocol import Store
from tarnbeck.store.state import VersionState
from tarnbeck.window.pane import UNIX, Pane, Whole

_STATES = 8192
"""Finished states kept for each version: most windows of a question are the same a moment later."""
_ANSWERS = 256
_SMALL = 200
"""Rows of the largest answer that is kept."""

_MICROSECOND = datetime.timedelta(microseconds=1)

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
    """Of each level: start and end of the window that starts then, as users see them."""


class Memo:
    """What one store has been asked; for any number of threads."""

    def __init__(self) -> None:
        self._plans: dict[int, Plan] = {}
        self._answers: OrderedDict[Hashable, Found] = OrderedDict()
        self._lock = threading.Lock()

    def plan(self, store: Store, version: VersionState) -> Plan:
        """Ids of versions are never used again, so a plan that was read once holds as long as the store."""
        known = self._plans.get(version.id)
        if known is None:
            view = view_of(version, store.streams())
            known = Plan(
                view,
                columns_of(view),
                view.finish if view.plain else lru_cache(maxsize=_STATES)(view.finish),
                lru_cache(maxsize=_STATES)(view.read_keys),
                tuple(lru_cache(maxsize=_STATES)(partial(_window, pane)) for pane in view.window.panes),
            )
            self._plans[version.id] = known
        return known

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


def _window(pane: Pane, start: int) -> Row:
    end = pane.end_of(start)
    return () if end is None else (UNIX + start * _MICROSECOND, UNIX + end * _MICROSECOND)


_MEMOS: weakref.WeakKeyDictionary[Store, Memo] = weakref.WeakKeyDictionary()


def memo(store: Store) -> Memo:
    """What is known of a store; it is forgotten with the store."""
    known = _MEMOS.get(store)
    return _MEMOS.setdefault(store, Memo()) if known is None else known


def columns_of(view: View) -> tuple[tuple[str, Type], ...]:
    """The columns of an answer: keys, start and end of the window unless it is all time, outputs."""
    window: tuple[tuple[str, Type], ...] = (("start", types.TIMESTAMP), ("end", types.TIMESTAMP))
    return (
        *((key.name, key.type) for key in view.keys),
        *(() if isinstance(view.window.panes[0], Whole) else window),
        *((output.name, output.type) for output in view.outputs),
    )
