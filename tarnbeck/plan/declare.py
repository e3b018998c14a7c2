"""Checks what a view's declaration says and makes it the parts of a plan."""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

from tarnbeck.algebra import custom
from tarnbeck.algebra.aggregate import Aggregate
from tarnbeck.algebra.custom import Custom
from tarnbeck.algebra.registry import AGGREGATES
from tarnbeck.algebra.relation import EVENT_TIME
from tarnbeck.algebra.sets import Combination, Members
from tarnbeck.algebra.state import Extreme
from tarnbeck.errors import DeclarationError, UsageError, unknown
from tarnbeck.expression import Expression, check, check_finished
from tarnbeck.plan.view import ARRIVAL, Derived, Key, Measure, StateCall
from tarnbeck.schema import types
from tarnbeck.schema.stream import FILES, Arrival, Epoch, EventTime, FromColumn
from tarnbeck.schema.types import Decimal, Physical, Scalar, ScalarType, Schema, Type
from tarnbeck.window.duration import duration
from tarnbeck.window.window import AllTime, Sliding, Window, all_time

RESERVED = ("start", "end", "level", "cut")
"""Names that an answer's own columns and a query's own parameters have."""


Check = Callable[..., Expression]


class Scope:
    """Where expressions of one view are checked: its stream's columns, or the outputs before them."""

    def __init__(self, place: str, owner: str, columns: Mapping[str, Type], check: Check = check) -> None:
        self.place, self.owner, self.columns, self._check = place, owner, columns, check

    def expression(self, text: str, *, expected: Type | None = None) -> Expression:
        found = self._check(self.text(text), self.columns, place=self.place, owner=self.owner)
        if expected is not None and found.type != expected:
            raise DeclarationError(f"{self.place}: {text!r}: expected {expected}, found {found.type}")
        return found

    def text(self, given: object) -> str:
        """What was given as an expression, if it can be one."""
        if not isinstance(given, str):
            raise DeclarationError(
                f"{self.place}: expected an expression as text, such as 'price > 0', found {given!r}"
            )
        return given

    def scalar(self, text: str) -> tuple[Expression, ScalarType]:
        found = self.expression(text)
        if not isinstance(found.type, (Scalar, Decimal)):
            raise DeclarationError(
                f"{self.place}: {text!r}: expected a single value, found {found.type}\n"
                "  choose a part of it, such as a.b, items[0] or tags['x']"
            )
        return found, found.type


_LATE = re.compile(r"(?:drop|to (?P<stream>\w+)) after (?P<length>.+)")


def late_after(place: str, late: str | None) -> tuple[int | None, str | None]:
    """After how long an event is late, and the stream that it goes to, if to any."""
    if late is None:
        return None, None
    found = _LATE.fullmatch(late) if isinstance(late, str) else None
    try:
        if found is None:
            raise UsageError("expected such as 'drop after 1 hour', or 'to late_orders after 1 hour'")
        return duration(found["length"]), found["stream"]
    except UsageError as wrong:
        raise DeclarationError(f"{place}: late={late!r}: {wrong}") from None


def window_for(place: str, window: Window | None) -> Window:
    """The window of a view, which is all time if it names none."""
    if window is None:
        return all_time()
    if not isinstance(window, Window):
        try:
            duration(window)
            fits = f"tb.tumbling({window!r})"
        except UsageError:
            fits = "tb.tumbling('1 minute'), tb.all_time() or another one"
        raise DeclarationError(f"{place}: window={window!r}: it is no window\n  write window={fits}")
    return window


def kept_for(place: str, window: Window, keep: str | Mapping[str, str] | None) -> tuple[int | None, ...]:
    """How long each level is kept; nothing when all are kept for ever."""
    if keep is None or keep == {}:
        return ()
    levels = window.levels
    if isinstance(window, AllTime):
        raise DeclarationError(f"{place}: keep={keep!r}: its one window over all time never ends\n  leave it out")
    named = keep if isinstance(keep, Mapping) else dict.fromkeys(levels, keep)
    for level in named:
        if level not in levels:
            raise DeclarationError(unknown(f"{place}: keep", "level", level, levels, "its window"))
    try:
        found = tuple(duration(named[level]) if level in named else None for level in levels)
    except UsageError as wrong:
        raise DeclarationError(f"{place}: keep={keep!r}: {wrong}") from None
    if isinstance(window, Sliding) and found[0] is not None and found[0] < window.length:
        raise DeclarationError(
            f"{place}: keep={keep!r}: no window would ever be whole\n  expected at least its length, {levels[0]}"
        )
    return found


def keys_of(scope: Scope, by: str | Sequence[str] | Mapping[str, str]) -> tuple[Key, ...]:
    if isinstance(by, str) or not isinstance(by, Iterable):
        by = (scope.text(by),)
    named = by if isinstance(by, Mapping) else {column: column for column in by}
    if not isinstance(by, Mapping) and len(named) != len(by):
        raise DeclarationError(f"{scope.place}: by={list(by)!r}: a key is named twice")
    keys = []
    for name, text in named.items():
        if not scope.text(name).isidentifier() and not isinstance(by, Mapping):
            raise DeclarationError(
                f"{scope.place}: by={name!r}: a computed key needs a name\n  by={{'name': {name!r}}}"
            )
        column_name(scope.place, name)
        expression, type_ = scope.scalar(text)
        keys.append(Key(name, expression, type_))
    return tuple(keys)


def column_name(place: str, name: str) -> None:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,62}", name) or name.lower() in RESERVED:
        raise DeclarationError(
            f"{place}: bad column name {name!r}\n"
            f"  expected a letter, then letters, digits or '_'; not one of: {', '.join(RESERVED)}"
        )


def hidden_states(place: str, *, session: bool, kept: bool) -> tuple[StateCall, ...]:
    """What a view needs beside all that users ask for, and before it."""
    return (*(_bounds(place) if session else ()), *(_clock(place) if kept else ()))


def _bounds(place: str) -> tuple[StateCall, ...]:
    """The earliest and latest event of a session's pane."""
    moment = check("_time", {"_time": types.TIMESTAMP}, place=place, owner="every stream")
    return tuple(StateCall(Extreme(Physical.INT, least), (moment,)) for least in (True, False))


def _clock(place: str) -> tuple[StateCall, ...]:
    """The newest arrival, which decides what a view still keeps."""
    arrival = check(ARRIVAL, {ARRIVAL: types.TIMESTAMP}, place=place, owner="every stream")
    return (StateCall(Extreme(Physical.INT, False), (arrival,)),)


def outputs_of(
    scope: Scope, select: Mapping[str, Aggregate | str], keys: set[str], hidden: Sequence[StateCall]
) -> tuple[tuple[Measure | Derived, ...], tuple[StateCall, ...]]:
    for name, output in select.items():
        if isinstance(output, type) and issubclass(output, (Aggregate, Custom)):
            raise _not_called(f"{scope.place}: '{name}'", output)
        if not isinstance(output, (Aggregate, str)):
            raise DeclarationError(f"{scope.place}: '{name}': expected an aggregate or an expression, found {output!r}")
    if not any(isinstance(output, Aggregate) for output in select.values()):
        raise DeclarationError(f"{scope.place}: select needs at least one aggregate, such as {{'n': tb.count()}}")
    states: dict[StateCall, int] = {call: place for place, call in enumerate(hidden)}
    outputs: list[Measure | Derived] = []
    for name, output in select.items():
        column_name(scope.place, name)
        if name in keys:
            raise DeclarationError(f"{scope.place}: '{name}' is a key and an output\n  rename one of them")
        if isinstance(output, Combination):
            outputs.append(_combination(scope, name, output, outputs))
        elif isinstance(output, Aggregate):
            outputs.append(_measure(scope, name, output, states))
        else:
            before = {o.name: o.type for o in outputs}
            known = Scope(f"{scope.place}: '{name}'", "select, before it,", before, check_finished)
            expression, type_ = known.scalar(output)
            outputs.append(Derived(name, expression, type_))
    return tuple(outputs), tuple(states)


def _not_called(place: str, kind: type[Aggregate | Custom]) -> DeclarationError:
    """Of a class where something made by it belongs."""
    if issubclass(kind, Custom):
        name, needs = kind.__name__, True
    else:
        name, needs = f"tb.{kind.name}", any(each.init and each.default is MISSING for each in fields(kind))
    return DeclarationError(f"{place}: {name} is not called\n  write {name}({'…' if needs else ''})")


_EVENT_TIME = re.compile(rf"\b{EVENT_TIME}\b")


def _measure(scope: Scope, name: str, aggregate: Aggregate, states: dict[StateCall, int]) -> Measure:
    scope = Scope(f"{scope.place}: '{name}'", scope.owner, scope.columns)
    aggregate = aggregate.over(scope.columns)
    columns = tuple(map(scope.text, aggregate.columns))
    # Not only as it is: a definition holds it within the condition that the aggregate had.
    if any(_EVENT_TIME.search(column) for column in columns):
        scope = Scope(scope.place, scope.owner, {**scope.columns, EVENT_TIME: types.TIMESTAMP})
    if aggregate.where is not None:
        # What has no value is not seen: an aggregate with a condition is one of columns that are null elsewhere.
        condition = scope.expression(aggregate.where, expected=types.BOOL).sql
        values = [scope.expression(column).sql for column in columns] or ["1"]
        columns = tuple(f"CASE WHEN {condition} THEN {value} END" for value in values)
    found = [scope.scalar(column) for column in columns]
    arguments, argument_types = tuple(each[0] for each in found), tuple(each[1] for each in found)
    try:
        result = aggregate.result(argument_types)
        calls = [StateCall(state, arguments) for state in aggregate.states(argument_types)]
    except DeclarationError as wrong:
        raise DeclarationError(f"{scope.place}: {wrong}") from None
    places = tuple(states.setdefault(call, len(states)) for call in calls)
    return Measure(name, aggregate, arguments, result, places)


def _combination(scope: Scope, name: str, wanted: Combination, before: Sequence[Measure | Derived]) -> Measure:
    """A set made of two that are outputs before it, whose states it shares."""
    place = f"{scope.place}: '{name}': {wanted}"
    if wanted.where is not None:
        raise DeclarationError(f"{place}: it takes no where\n  give it to the sets that it is made of")
    known = {o.name: o for o in before if isinstance(o, Measure) and isinstance(o.aggregate, Members)}
    places: tuple[int, ...] = ()
    for each in (wanted.left, wanted.right):
        if each not in known:
            raise DeclarationError(unknown(place, "set", each, known, "select, before it, as tb.members(…),"))
        places += known[each].states
    return Measure(name, wanted, (), wanted.result(()), places)


def aggregate_of(name: str, *given: str | dict[str, Any] | None) -> Aggregate:
    """The aggregate of a definition: its name, its columns, and its options, if it has any."""
    columns = [column for column in given if isinstance(column, str)]
    options = given[-1] if given and isinstance(given[-1], dict) else {}
    # A user's class may have the name of a built-in aggregate: what has the hash of some code is made by a class.
    known = None if custom.CODE in options else AGGREGATES.get(name)
    return custom.again(name, columns, options) if known is None else known.again(columns, options)


def event_time(place: str, columns: Schema, time: str | EventTime, zone: str | None) -> EventTime:
    """When a stream's events happened, if its columns can tell."""
    moment = FromColumn(time, zone) if isinstance(time, str) else time
    if isinstance(moment, Arrival):
        return moment
    if moment.column not in columns:
        raise DeclarationError(unknown(place, "time column", moment.column, columns.names, "it"))
    found = columns[moment.column].type
    fits = (types.TIMESTAMP,) if isinstance(moment, FromColumn) else (types.INT, types.LONG, types.DOUBLE)
    if found not in fits:
        hint = (
            "" if isinstance(moment, Epoch) else f"\n  for a number of seconds: time=tb.epoch({moment.column!r}, 's')"
        )
        expected = " or ".join(map(str, fits))
        raise DeclarationError(f"{place}: time column '{moment.column}': expected {expected}, found {found}{hint}")
    if zone is not None:
        try:
            zoneinfo.ZoneInfo(zone)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError):
            raise DeclarationError(f"{place}: unknown time zone {zone!r}\n  for example: 'Europe/Vienna'") from None
    return moment


def files_of(place: str, moment: EventTime, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names of files with older events, if their kind and the stream's time allow them."""
    for name in names:
        if not name.lower().endswith(FILES):
            raise DeclarationError(
                f"{place}: history: can't read '{name}'\n  expected names that end in: {', '.join(FILES)}"
            )
    if names and isinstance(moment, Arrival):
        raise DeclarationError(
            f"{place}: history: rows of a file have no time of arrival\n"
            "  say which column has their time: time='column'"
        )
    return names


def select_of(definition: Mapping[str, Any]) -> dict[str, Aggregate | str]:
    """What a definition selects."""
    return {
        name: output if isinstance(output, str) else aggregate_of(*output)
        for name, output in definition["select"].items()
    }
