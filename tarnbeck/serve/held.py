"""What of a table holds at a moment: of each key's changes the newest that had happened, and was known, by then."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa

from tarnbeck.algebra.aggregate import UNIX
from tarnbeck.algebra.state import Raw
from tarnbeck.arrow import partials as arrow
from tarnbeck.cut import Cut
from tarnbeck.errors import UsageError
from tarnbeck.memory.changes import Change, change_of
from tarnbeck.memory.partials import partials
from tarnbeck.plan.table import ORDER
from tarnbeck.plan.view import View
from tarnbeck.schema.decode import events_schema
from tarnbeck.serve import merge
from tarnbeck.serve.memo import Plan
from tarnbeck.serve.merge import Range
from tarnbeck.serve.moment import bound
from tarnbeck.serve.shape import Merged
from tarnbeck.serve.wanted import Wanted, of, seeks
from tarnbeck.store.protocol import Row, Snapshot
from tarnbeck.store.rows import from_arrow

FEW = 100
"""Rows up to which plain Python is faster than handing them to a SQL engine."""
Moment = str | datetime.datetime
_PLACE = ("_time", "_partition", "_offset", "_index", "_received")
_MICROSECOND = datetime.timedelta(microseconds=1)
_steps = lru_cache(maxsize=256)(arrow.steps)


@dataclass(frozen=True)
class When:
    """The two axes of time: what was true at a moment, and what the log had received of it by then, or below a cut."""

    as_of: int | None = None
    known: int | None = None
    at_cut: Cut | None = None


NOW = When()


def when(as_of: Moment | None, known: Moment | None, at_cut: str | None) -> When:
    """The moment that people ask for: times as everywhere else, a cut as answers show it.

    >>> when(None, None, "history:9 0:5 1:7").at_cut == Cut.of("", {0: 5, 1: 7}).with_history(9)
    True
    """
    times = [None if text is None else bound(name, text) for name, text in (("as_of", as_of), ("known", known))]
    return When(times[0], times[1], None if at_cut is None else _cut(at_cut))


def _cut(text: str) -> Cut:
    try:
        return Cut.parse("", text)
    except ValueError:
        raise UsageError(f"at_cut: bad cut {text!r}\n  expected partition:offset of each, such as '0:5 1:7'") from None


def merged(
    snapshot: Snapshot,
    plan: Plan,
    level: int,
    wanted: Wanted,
    panes: Range,
    reach: int,
    when: When = NOW,
) -> Merged:
    """The states that an answer is made of: those of panes, or of the rows of a table that hold."""
    if plan.table is None:
        return merge.read(snapshot, plan.view, level, wanted, panes, reach)
    return _table(snapshot, plan.table, wanted, when, reach)


def _table(snapshot: Snapshot, view: View, wanted: Wanted, when: When, reach: int) -> Merged:
    assert view.table is not None  # noqa: S101 (asked for tables only)
    shown = view.table.over
    # Keys of the table itself are sought by; those of a view over it are known only when its rows are.
    own = wanted if _same_keys(view, shown) else {}
    found = states(view, chosen(snapshot, view, own, when, reach))
    return {at: states for at, states in found.items() if all(at[place] in raws for place, raws in wanted.items())}


def sought(view: View, when: When) -> bool:
    """Whether one key of what is asked for is one step to one row: all else goes through rows, however many."""
    assert view.table is not None  # noqa: S101 (asked for tables only)
    return _same_keys(view, view.table.over) and when.known is None and when.at_cut is None


def _same_keys(view: View, shown: View) -> bool:
    own = view.keys[: -len(ORDER)]
    return [key.expression.sql for key in shown.keys] == [key.name for key in own]


def chosen(snapshot: Snapshot, view: View, wanted: Wanted, when: When, reach: int) -> list[Row]:
    """The change of each key that holds, as it is stored: keys, level, pane, states."""
    own = len(view.keys) - len(ORDER)
    visible = _visible(view, when)
    first, where, compared = seeks(wanted, own)
    if len(first[0]) == own:
        below = () if when.as_of is None else (when.as_of + 1,)
        parts = (part for key in first for part in snapshot.parts(view.name, key=key, last_first=True, below=below))
        seen = [row for part in parts for row in itertools.islice(filter(visible, part), 1)]
        return newest(view, seen, NOW, reach)
    parts = (part for key in first for part in snapshot.parts(view.name, key=key, where=where))
    return newest(view, of(itertools.chain.from_iterable(parts), compared), when, reach)


def newest(view: View, changes: Iterable[Row], when: When, reach: int) -> list[Row]:
    """Of each key the newest change that had happened, and was known."""
    own = len(view.keys) - len(ORDER)
    order = slice(own, own + len(ORDER))
    best: dict[tuple[Raw, ...], Row] = {}
    for row in changes if when == NOW else filter(_visible(view, when), changes):
        key = row[:own]
        known = best.get(key)
        if known is None or row[order] > known[order]:
            best[key] = row
        if len(best) > reach:
            raise UsageError(f"table '{view.name}': the question reaches more than {reach:,} rows\n  give more keys")
    return list(best.values())


def states(view: View, changes: Iterable[Row]) -> Merged:
    """What is answered, over the rows that these changes made."""
    assert view.table is not None  # noqa: S101 (asked for tables only)
    shown, read = view.table.over, change_of(view)
    held = [change for row in changes if (change := read(row)).values is not None]
    return _few(shown, held) if len(held) <= FEW else _many(shown, held)


def _visible(view: View, when: When) -> Callable[[Row], bool]:
    """Whether a change had happened, and was known."""
    own, depth = len(view.keys) - len(ORDER), len(view.keys) + 2
    tests: list[Callable[[Any], bool]] = []
    if when.as_of is not None:
        moment = when.as_of
        tests.append(lambda row: row[own] <= moment)
    if when.known is not None:
        received = when.known
        tests.append(lambda row: row[depth] <= received)
    if when.at_cut is not None:
        ends = dict(when.at_cut.offsets)
        tests.append(lambda row: row[own + 2] < ends.get(row[own + 1], 0))
    return lambda row: all(test(row) for test in tests)


def _few(shown: View, changes: Sequence[Change]) -> Merged:
    names = shown.stream.schema.names
    events = [
        {
            **dict(zip(_PLACE, (_moment(each.order[0]), *each.order[1:], _moment(each.received)), strict=True)),
            **dict(zip(names, (*each.keys, *(each.values or ())), strict=True)),
        }
        for each in changes
    ]
    return {(*keys, level, pane): states for (keys, level, pane), states in partials(shown, events).items()}


def _many(shown: View, changes: Sequence[Change]) -> Merged:
    rows = ((*each.order, each.received, *each.keys, *(each.values or ())) for each in changes)
    columns = dict(zip((*_PLACE, *shown.stream.schema.names), zip(*rows, strict=True), strict=True))
    schema = events_schema(shown.stream)
    cells = [
        pa.array(columns[field.name], field.type) if field.name in columns else pa.nulls(len(changes), field.type)
        for field in schema
    ]
    (partial,) = arrow.partials(_steps(shown), pa.table(cells, schema=schema))
    parted = from_arrow(partial, shown.layout)
    return {(*parted.keys[key], level, pane): states for (level, key, pane), states in parted.states.items()}


def _moment(micros: int) -> datetime.datetime:
    return UNIX + micros * _MICROSECOND
