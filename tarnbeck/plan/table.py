"""A table as a view: every change of every key, in the order of their times, so that any moment can be asked for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from tarnbeck.algebra.aggregate import Aggregate, Min
from tarnbeck.algebra.state import Extreme
from tarnbeck.errors import DeclarationError
from tarnbeck.expression import Expression, check
from tarnbeck.plan.declare import Scope, keys_of, outputs_of
from tarnbeck.plan.view import ARRIVAL, Key, Measure, StateCall, Table, View
from tarnbeck.schema import types
from tarnbeck.schema.stream import Arrival, Json, Stream
from tarnbeck.schema.types import Column, Decimal, Physical, Scalar, ScalarType, Schema, Struct, Type
from tarnbeck.window.window import AllTime

ORDER: tuple[tuple[str, ScalarType], ...] = (
    ("_time", types.TIMESTAMP),
    ("_partition", types.INT),
    ("_offset", types.LONG),
    ("_index", types.INT),
)
"""What follows a table's own keys: a change is told from others of its key by its time and its place in the log."""

By = str | Sequence[str] | Mapping[str, str]
Select = Sequence[str] | Mapping[str, str] | None


def table(
    place: str, name: str, source: Stream, key: By, select: Select, where: str | None, delete: str | None
) -> View:
    """The table of a stream: the newest row of each key, by the events' own times."""
    scope = Scope(place, f"stream '{source.name}'", {column.name: column.type for column in source.schema})
    condition = None if where is None else scope.expression(where, expected=types.BOOL)
    deleted = None if delete is None else scope.expression(delete, expected=types.BOOL)
    own = keys_of(scope, key)
    if not own:
        raise DeclarationError(f"{place}: it has no key\n  name the column that tells its rows apart: key='person'")
    columns = _columns(place, source, own, select)
    outputs, states = outputs_of(scope, columns, {each.name for each in own}, _hidden(place, deleted))
    measures = tuple(output for output in outputs if isinstance(output, Measure))
    row = _row(name, own, measures)
    stored = View(name, source, (*own, *_order(place)), condition, AllTime(), measures, states)
    return dataclasses.replace(stored, table=Table(deleted, _itself(place, name, row, len(own))))


def over(place: str, name: str, source: View, by: By, where: str | None, select: Mapping[str, Aggregate | str]) -> View:
    """A view over the rows of a table; it keeps the changes itself, so that no other view's version matters to it."""
    if source.table is None:
        raise DeclarationError(f"{place}: view '{source.name}' is no table\n  a view is over a stream or a table")
    shown = _shown(place, name, source.name, source.table.over.stream, by, where, select)
    own = {key.name: key.expression.sql for key in source.keys[: -len(ORDER)]}
    columns = {o.name: o.arguments[0].sql for o in source.outputs if isinstance(o, Measure)}
    needed = {column: text for column, text in columns.items() if column in _read(shown)}
    kept = needed or dict([next(iter(columns.items()))])
    condition, deleted = (None if each is None else each.sql for each in (source.where, source.table.deleted))
    made = table(place, name, source.stream, own, kept, condition, deleted)
    assert made.table is not None  # noqa: S101 (that is what was made)
    shown = _shown(place, name, source.name, made.table.over.stream, by, where, select)
    return dataclasses.replace(made, table=dataclasses.replace(made.table, over=shown))


def _shown(
    place: str,
    name: str,
    owner: str,
    row: Stream,
    by: By,
    where: str | None,
    select: Mapping[str, Aggregate | str],
) -> View:
    scope = _scope(place, owner, row)
    condition = None if where is None else scope.expression(where, expected=types.BOOL)
    keys = keys_of(scope, by)
    outputs, states = outputs_of(scope, select, {key.name for key in keys}, ())
    return View(name, row, keys, condition, AllTime(), outputs, states)


def _read(view: View) -> set[str]:
    """The columns that a view needs."""
    expressions = [key.expression for key in view.keys] + [each for call in view.states for each in call.arguments]
    return {column for each in (*expressions, *filter(None, [view.where])) for column in each.columns}


def row_of(view: View) -> Struct:
    """A row of a table without its keys."""
    return Struct(tuple(Column(each.name, each.type) for each in view.outputs))


def _columns(place: str, source: Stream, own: Sequence[Key], select: Select) -> dict[str, Aggregate | str]:
    """The columns of a row beside its keys, each as what keeps the value of a single event."""
    if select is None:
        taken = {key.expression.sql for key in own}
        nested = [column.name for column in source.schema if not _plain(column.type)]
        if nested:
            raise DeclarationError(
                f"{place}: column '{nested[0]}' of stream '{source.name}' holds more than one value\n"
                "  name the columns, or parts of them: select={'city': 'address.city'}"
            )
        select = [column.name for column in source.schema if column.name not in taken]
    named = select if isinstance(select, Mapping) else {column: column for column in select}
    if not named:
        raise DeclarationError(f"{place}: it has no column beside its key\n  name at least one: select=['city']")
    return {name: Min(text) for name, text in named.items()}


def _plain(type_: Type) -> bool:
    return isinstance(type_, (Scalar, Decimal))


def _hidden(place: str, deleted: Expression | None) -> tuple[StateCall, ...]:
    """When the log received a change, and whether it says that the row is no more."""
    received = check(ARRIVAL, {ARRIVAL: types.TIMESTAMP}, place=place, owner="every stream")
    arguments = [received] if deleted is None else [received, deleted]
    return tuple(StateCall(Extreme(Physical.INT, least=True), (argument,)) for argument in arguments)


def _order(place: str) -> tuple[Key, ...]:
    known = dict(ORDER)
    return tuple(Key(name, check(name, known, place=place, owner="every stream"), type_) for name, type_ in ORDER)


def _row(name: str, own: Sequence[Key], measures: Sequence[Measure]) -> Stream:
    """The rows of a table in the form of events, so that aggregates and expressions can be over them."""
    keys, values = (Column(key.name, key.type) for key in own), (Column(each.name, each.type) for each in measures)
    return Stream(name, Schema((*keys, *values)), Arrival(), None, "", Json(), 1, create=False)


def _scope(place: str, name: str, row: Stream) -> Scope:
    return Scope(place, f"table '{name}'", {column.name: column.type for column in row.schema})


def _itself(place: str, name: str, row: Stream, own: int) -> View:
    """The table as a view over its rows: one for each key."""
    scope, names = _scope(place, name, row), row.schema.names
    outputs, states = outputs_of(scope, {column: Min(column) for column in names[own:]}, set(names[:own]), ())
    return View(name, row, keys_of(scope, names[:own]), None, AllTime(), outputs, states)
