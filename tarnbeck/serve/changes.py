"""How the answer to one question changes: what is new since someone was told, and whether its window was closed."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from tarnbeck.cut import Cut
from tarnbeck.errors import UsageError
from tarnbeck.schema.types import Decimal, Scalar
from tarnbeck.serve import values
from tarnbeck.serve.answer import Answer, Question, ask, ready, view_in
from tarnbeck.serve.memo import Row, memo
from tarnbeck.serve.moment import told
from tarnbeck.serve.shape import greatest_first
from tarnbeck.serve.wire import cut_to_json
from tarnbeck.store import keys as encoding
from tarnbeck.store import rules
from tarnbeck.store.protocol import Store

EARLY, ON_TIME, LATE = "early", "on time", "late"
POLL = 0.05
"""Seconds between two looks at the cuts: the writer may be another process, which gives nothing to wait on."""
KEPT = 512
"""States of an answer back to which the difference can be told."""

Moment = datetime.datetime | None
State = tuple[int, Cut, bool] | None
"""The version that answers, its cut, and whether it can answer; None when the view is gone."""


def states(store: Store) -> dict[str, State]:
    """How far each view is: when that has not changed, no row has."""
    versions = store.versions()
    found = {view: versions.get(version) for view, version in store.aliases().items()}
    return {
        view: None if version is None else (version.id, version.cut, rules.answerable(version))
        for view, version in found.items()
    }


def timing(end: Moment, before: Moment, now: Moment) -> str:
    """Of a window that ends at `end`, for one who was told of what was closed `before`, and is told what is `now`.

    >>> one, two, three = map(told, (1, 2, 3))
    >>> timing(three, one, two), timing(two, one, two), timing(two, two, three), timing(None, one, two)
    ('early', 'on time', 'late', 'early')
    """
    if end is None or now is None or now < end:
        return EARLY
    return ON_TIME if before is None or before < end else LATE


@dataclass(frozen=True)
class Seen:
    """An answer, how many of its first columns tell a row from all others, and up to when windows are closed."""

    answer: Answer
    keys: int
    windowed: bool
    closed: Moment

    @property
    def id(self) -> str:
        return id_of(self.answer.version, self.answer.cut)

    def end(self, row: Row) -> Moment:
        return row[self.keys] if self.windowed else None


def id_of(version: int, cut: Cut) -> str:
    """The name of a state: rows are a function of a version and its cut."""
    return orjson.dumps({"version": version, **cut_to_json(cut)}).decode()


def look(store: Store, question: Question) -> Seen:
    """The answer of this moment, with all that must come from the same snapshot."""
    with ready(store, [question.view]) as snapshot:
        answer = ask(store, snapshot, question)
        version = snapshot.versions[question.view]
        by = question.shape.by
        keys = len(view_in(store, version).keys if by is None else by)
        # What is asked for may be one window, whatever the view's own are.
        windowed = answer.names[keys : keys + 1] == ("start",)
        newest = memo(store).newest(snapshot, version) if windowed else None
    closed = None if newest is None else told(newest)
    return Seen(answer, keys + windowed, windowed, closed)


@dataclass(frozen=True)
class Update:
    """What one subscriber is told: rows that are new, changed or closed since the update before, and those that left.

    `changed` is the answer with these rows only, `timings` tells of each whether its window was closed. After a `reset`
    what was told before no longer holds. Windows that end at `closed` or before are closed.
    """

    changed: Answer
    timings: list[str]
    removed: list[Row]
    reset: bool
    keys: int
    windowed: bool
    closed: Moment

    @property
    def cut(self) -> Cut:
        return self.changed.cut

    @property
    def names(self) -> tuple[str, ...]:
        return self.changed.names

    @property
    def id(self) -> str:
        return id_of(self.changed.version, self.cut)

    def __len__(self) -> int:
        return len(self.changed)

    def __iter__(self) -> Iterator[tuple[dict[str, Any], str]]:
        """Each row with its timing: early, on time or late."""
        return zip(self.changed, self.timings, strict=True)


@dataclass(frozen=True)
class _Gone:
    number: int
    end: Moment


class History:
    """The rows of one answer as last seen, when each changed, and the states that were told; states are numbered."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._seen: Seen | None = None
        self._rows: dict[Row, Row] = {}
        self._changed: dict[Row, int] = {}
        self._gone: dict[Row, _Gone] = {}
        self._known: dict[int, tuple[str, Moment]] = {}
        self.number = 0

    @property
    def id(self) -> str | None:
        return None if self._seen is None else self._seen.id

    def number_of(self, id_: str) -> int | None:
        """The number of the first state that has this id, if it is still known."""
        return next((number for number, (known, _) in self._known.items() if known == id_), None)

    def take(self, seen: Seen) -> None:
        """Goes on to the next state, unless it is the same; at one cut, rows only leave because `last` moved on."""
        before = self._seen
        if before is not None and before.id == seen.id and before.answer.rows == seen.answer.rows:
            return
        self.number += 1
        rows = {row[: seen.keys]: row for row in seen.answer.rows}
        if before is None or before.answer.version != seen.answer.version:
            self._changed, self._gone, self._known = dict.fromkeys(rows, self.number), {}, {}
        else:
            for place in self._rows.keys() - rows.keys():
                self._gone[place] = _Gone(self.number, before.end(self._rows[place]))
                del self._changed[place]
            for place, row in rows.items():
                if self._rows.get(place) != row:
                    self._changed[place] = self.number
                    self._gone.pop(place, None)
        self._seen, self._rows = seen, rows
        self._known[self.number] = seen.id, seen.closed
        self._forget()

    def _forget(self) -> None:
        """Who knows only a state that is forgotten gets all rows, so what left before the others need not be told."""
        if len(self._known) <= self._kept:
            return
        del self._known[next(iter(self._known))]
        oldest = next(iter(self._known))
        self._gone = {place: gone for place, gone in self._gone.items() if gone.number > oldest}

    def since(self, number: int | None, *, only_closed: bool) -> Update | None:
        """What to tell someone who knows that state; everything, if it is none or no longer known."""
        seen = self._seen
        if seen is not None and only_closed and not seen.windowed:
            raise UsageError(
                f"view '{seen.answer.view}': on=close: the answer is one window, which never closes\n"
                "  choose another trigger, or ask for windows that end"
            )
        if seen is None or number == self.number:
            return None
        known = None if number is None else self._known.get(number)
        since, before = (0, None) if number is None or known is None else (number, known[1])
        rows, timings = [], []
        for place, row in self._rows.items():
            when = timing(seen.end(row), before, seen.closed)
            if (self._changed[place] > since or when == ON_TIME) and not (only_closed and when == EARLY):
                rows.append(row)
                timings.append(when)
        removed = [
            place
            for place, gone in self._gone.items()
            if gone.number > since
            and known is not None
            and not (only_closed and timing(gone.end, None, before) == EARLY)
        ]
        if known is not None and not rows and not removed:
            return None
        changed = replace(seen.answer, rows=rows)
        return Update(changed, timings, removed, known is None, seen.keys, seen.windowed, seen.closed)


def folded(before: Answer | None, update: Update, top: str | None) -> Answer:
    """The whole answer after an update, in the order in which a question gives it."""
    rows = {} if before is None or update.reset else {row[: update.keys]: row for row in before.rows}
    for place in update.removed:
        rows.pop(place, None)
    rows.update((row[: update.keys], row) for row in update.changed.rows)
    ordered = [rows[place] for place in sorted(rows, key=lambda place: _order(place, update))]
    if top is not None:
        ordered = greatest_first(ordered, update.names.index(top))
    return replace(update.changed, rows=ordered)


def _order(place: Row, update: Update) -> tuple[bytes, Sequence[Any]]:
    """By keys as stores order them, then by start."""
    depth = update.keys - update.windowed
    raws, forms = [], []
    for value, (name, type_) in zip(place[:depth], update.changed.columns, strict=False):
        assert isinstance(type_, (Scalar, Decimal))  # noqa: S101 (keys are single values)
        raws.append(values.key(value, type_, name))
        forms.append(type_.physical)
    return encoding.encode(tuple(raws), tuple(forms)), place[depth:]
