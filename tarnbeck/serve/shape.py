"""Answers coarser than what is stored, from the same states: other keys, longer windows, totals so far, no gaps."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tarnbeck.algebra.aggregate import raw
from tarnbeck.algebra.state import Raw
from tarnbeck.errors import DeclarationError, UsageError, unknown
from tarnbeck.expression import Expression, check_finished
from tarnbeck.plan.view import Key, View
from tarnbeck.schema import types
from tarnbeck.schema.types import Decimal, Scalar, Type
from tarnbeck.serve import longer, values
from tarnbeck.serve.longer import Every
from tarnbeck.serve.outputs import finished
from tarnbeck.serve.wanted import Wanted
from tarnbeck.window.pane import Pane
from tarnbeck.window.window import AllTime, Rollup, Sliding, Tumbling, Window

Merged = dict[tuple[Any, ...], tuple[Raw, ...]]
"""Raw keys, level and start -> merged states."""
Columns = Sequence[tuple[str, Type]]
Row = tuple[Any, ...]


@dataclass(frozen=True)
class Shape:
    """How an answer differs from the view's own rows.

    `by` are keys computed from the view's keys, none at all to take everything together, None to leave them as they
    are; `every` is the length or the calendar unit of longer windows, `one` takes all windows of the range as one.
    `ask` names values that outputs are asked about, `bounds` adds those of estimates.
    """

    by: tuple[tuple[str, str], ...] | None = None
    every: Every | None = None
    one: bool = False
    cumulative: bool = False
    fill: bool = False
    having: str | None = None
    top: str | None = None
    ask: tuple[tuple[str, str], ...] = ()
    bounds: bool = False

    def parameters(self) -> list[tuple[str, str]]:
        """The parameters of a URL that ask for this shape."""
        every = ALL if self.one else None if self.every is None else longer.text(self.every)
        texts = [("every", every), ("having", self.having), ("top", self.top)]
        flags = [(name, "true") for name in ("cumulative", "fill", "bounds") if getattr(self, name)]
        keys = [("by", f"{name}={text}") for name, text in self.by or ()] or [("by", "")]
        given = [(name, text) for name, text in texts if text is not None]
        asked = [("ask", f"{name}={text}") for name, text in self.ask]
        return [*given, *flags, *asked, *([] if self.by is None else keys)]


AS_STORED = Shape()
ALL = "all"
"""What people write for `every` to have one window, the range that they ask for."""


By = str | Sequence[str] | Mapping[str, str]
"""Keys as people name them: one, several, or a mapping from name to expression; "" is none at all."""


def read(
    by: By | None,
    every: str | None,
    *,
    cumulative: bool = False,
    fill: bool = False,
    having: str | None = None,
    top: str | None = None,
    ask: Sequence[str] | Mapping[str, Any] | None = None,
    bounds: bool = False,
) -> Shape:
    """The shape that people ask for by names and texts.

    >>> read("country", None).by, read(["domain=split_part(url, '/', 1)"], None).by, read("", "all").by
    ((('country', 'country'),), (('domain', "split_part(url, '/', 1)"),), ())
    """
    keys = None if by is None else tuple(by.items() if isinstance(by, Mapping) else _named(by))
    one = every is not None and every.strip().lower() == ALL
    length = None if one or every is None else longer.read(every)
    return Shape(keys, length, one, cumulative, fill, having, top, tuple(_asked(ask or ())), bounds)


def _asked(ask: Sequence[str] | Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if isinstance(ask, Mapping):
        yield from ((name, values.text(value)) for name, value in ask.items())
        return
    for text in ask:
        name, sign, value = text.partition("=")
        if not sign:
            raise UsageError(f"ask={text!r}: expected OUTPUT=VALUE, such as pages=/home")
        yield name.strip(), value


def _named(by: str | Sequence[str]) -> Iterator[tuple[str, str]]:
    for text in [by] if isinstance(by, str) else by:
        name, sign, expression = text.partition("=")
        if text:
            yield (name.strip(), expression.strip()) if sign else (text, text)


def derive(view: View, shape: Shape, level: int) -> View:
    """The view that would have these rows as its own, with one level."""
    place = f"view '{view.name}'"
    window: Window = view.window
    if shape.one:
        window = AllTime()
    elif shape.every is not None:
        window = longer.window(view, shape.every, level)
    elif isinstance(window, Rollup):
        window = Rollup((window.units[level],), window.zone)
    keys = view.keys if shape.by is None else _keys(place, view, shape.by)
    return dataclasses.replace(view, keys=keys, window=window, outputs=finished(view, shape.ask, bounds=shape.bounds))


def _keys(place: str, view: View, by: Sequence[tuple[str, str]]) -> tuple[Key, ...]:
    columns: dict[str, Type] = {key.name: key.type for key in view.keys}
    outputs = {output.name for output in view.outputs}
    keys: list[Key] = []
    for name, text in by:
        if not name.isidentifier() or name in outputs or name in ("start", "end", "level", "cut"):
            raise UsageError(f"{place}: by: bad name {name!r}\n  name what is computed: NAME=EXPRESSION")
        found = _checked(text, columns, f"{place}: by", "its keys")
        if not isinstance(found.type, (Scalar, Decimal)):
            raise UsageError(f"{place}: by: {text!r}: expected a single value, found {found.type}")
        _meant(place, name, text, found, columns)
        if name in {key.name for key in keys}:
            raise UsageError(f"{place}: by: '{name}' is named twice\n  leave one of them out, or name it otherwise")
        keys.append(Key(name, found, found.type))
    return tuple(keys)


def _meant(place: str, name: str, text: str, found: Expression, keys: Mapping[str, Type]) -> None:
    """Refuses what was a condition rather than a name, `item = 'b'`: every key would be counted under 'b'."""
    if found.columns and (name not in keys or name in found.columns):
        return
    wrong = f"'{name}' is a key, but what is computed does not use it" if found.columns else "it uses no key"
    hint = f"; a condition: NAME={name} = {text}" if name in keys else ""
    raise UsageError(f"{place}: by: {name}={text}: {wrong}\n  expected NAME=EXPRESSION over: {', '.join(keys)}{hint}")


def _checked(text: str, columns: Mapping[str, Type], place: str, owner: str) -> Expression:
    try:
        return check_finished(text, columns, place=place, owner=owner)
    except DeclarationError as wrong:
        raise UsageError(str(wrong)) from None


def regroup(view: View, derived: View, merged: Merged) -> Merged:
    """The states of a view's panes, brought together by the keys and panes of a view derived from it."""
    key_of, pane = _key_of(view, derived), derived.window.panes[0]
    other, depth, merge = derived.window != view.window, len(view.keys), view.layout.merge
    found: Merged = {}
    for at, states in merged.items():
        place = (*key_of(at[:depth]), 0, pane.start_of(at[-1]) if other else at[-1])
        known = found.get(place)
        found[place] = states if known is None else merge(known, states)
    return found


def _key_of(view: View, derived: View) -> Callable[[tuple[Raw, ...]], tuple[Raw, ...]]:
    if derived.keys == view.keys:
        return lambda raws: raws
    names = [key.name for key in view.keys]
    computed = [(key.expression.python(), key.type) for key in derived.keys]
    known: dict[tuple[Raw, ...], tuple[Raw, ...]] = {}

    def key_of(raws: tuple[Raw, ...]) -> tuple[Raw, ...]:
        found = known.get(raws)
        if found is None:
            row = dict(zip(names, view.read_keys(raws), strict=True))
            found = known[raws] = tuple(raw(compute(row), type_) for compute, type_ in computed)
        return found

    return key_of


def named(view: View, derived: View, wanted: Wanted) -> list[tuple[Raw, ...]]:
    """The keys that a question names, which there are even without an event; none if it leaves one open."""
    places = {key.name: place for place, key in enumerate(view.keys)}
    same = derived.keys == view.keys
    used = set(places) if same else {name for key in derived.keys for name in key.expression.columns}
    if not all(places[name] in wanted for name in used):
        return []
    key_of = _key_of(view, derived)
    chosen = itertools.product(*(wanted.get(place, (None,)) for place in range(len(view.keys))))
    return list(dict.fromkeys(map(key_of, chosen)))


def fill(
    view: View, merged: Merged, known: Sequence[tuple[Raw, ...]], since: int | None, until: int | None, most: int
) -> Merged:
    """Also the windows in which nothing happened, between the first and the last of all keys or of the range.

    Keys are those that have an event, and those that are `known` without one.
    """
    pane = view.window.panes[0]
    if pane.end_of(0) is None or not isinstance(view.window, (Tumbling, Rollup)):
        raise UsageError(f"view '{view.name}': fill: its windows are not side by side\n  leave it out")
    starts = {at[-1] for at in merged}
    first = min(starts if since is None else starts | {pane.start_of(since)}, default=None)
    last = max(starts if until is None else starts | {pane.start_of(until - 1)}, default=None)
    keys = dict.fromkeys([*((*raws, 0) for raws in known), *(at[:-1] for at in merged)])
    if first is None or last is None or not keys:
        return merged
    windows = _between(pane, first, last, most // len(keys) + 1)
    if len(windows) * len(keys) > most:
        raise UsageError(f"view '{view.name}': fill: more than {most:,} rows\n  ask for a shorter range or fewer keys")
    return {(*key, start): merged.get((*key, start), view.neutral) for key in keys for start in windows}


def first_from(view: View, moment: int) -> int:
    """The start of the first window from this moment on, of windows side by side."""
    pane = view.window.panes[0]
    start = pane.start_of(moment)
    return start if start == moment else pane.end_of(start) or start


def _between(pane: Pane, first: int, last: int, most: int) -> list[int]:
    found: list[int] = []
    start = first
    while start <= last and len(found) <= most:
        found.append(start)
        start = pane.end_of(start) or last + 1
    return found


def cumulate(view: View, merged: Merged) -> Merged:
    """Each window together with all windows of its key before it."""
    if isinstance(view.window, Sliding):
        raise UsageError(
            f"view '{view.name}': cumulative: its windows overlap, so a total would count an event once for each\n"
            "  leave it out, or ask a view whose windows don't overlap"
        )
    so_far: dict[tuple[Any, ...], tuple[Raw, ...]] = {}
    found: Merged = {}
    for at in sorted(merged, key=lambda place: place[-1]):
        before = so_far.get(at[:-1])
        so_far[at[:-1]] = found[at] = merged[at] if before is None else view.layout.merge(before, merged[at])
    return found


def choose(view: View, shape: Shape, columns: Columns, rows: list[Row]) -> list[Row]:
    """The finished rows for which `having` is true, those that are greatest in `top` first."""
    place, names = f"view '{view.name}'", [name for name, _ in columns]
    if shape.having is not None:
        condition = _checked(shape.having, dict(columns), f"{place}: having", "the answer")
        if condition.type != types.BOOL:
            raise UsageError(f"{place}: having: {shape.having!r}: expected boolean, found {condition.type}")
        holds = condition.python()
        rows = [row for row in rows if holds(dict(zip(names, row, strict=True))) is True]
    if shape.top is not None:
        if shape.top not in names:
            raise UsageError(unknown(f"{place}: top", "column", shape.top, names, "the answer"))
        column = names.index(shape.top)
        if not isinstance(columns[column][1], (Scalar, Decimal)):
            raise UsageError(f"{place}: top: {shape.top!r}: expected a single value, found {columns[column][1]}")
        rows = greatest_first(rows, column)
    return rows


def greatest_first(rows: Sequence[Row], column: int) -> list[Row]:
    """By one column, nulls last; equal ones stay in their order."""
    known = [row for row in rows if row[column] is not None]
    return sorted(known, key=lambda row: row[column], reverse=True) + [row for row in rows if row[column] is None]
