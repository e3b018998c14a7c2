"""Checks how a stream is declared to be made of another: chosen, joined with a table, or as a table's changes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from tarnbeck.errors import DeclarationError, UsageError, unknown
from tarnbeck.plan.declare import Scope
from tarnbeck.plan.definition import of_view
from tarnbeck.plan.table import ORDER, row_of
from tarnbeck.plan.view import View
from tarnbeck.schema import types
from tarnbeck.schema.stream import Changes, Derivation, Join, Stream
from tarnbeck.schema.types import Column
from tarnbeck.window.duration import duration

Select = Sequence[str] | Mapping[str, str] | None
Made = tuple[Derivation, tuple[Column, ...]]
"""How a stream is made, and the columns that it has."""

BEFORE, AFTER, CUT, TIME = "before", "after", "cut", "time"
"""The columns of a change log beside the table's keys."""


def derivation(place: str, source: Stream, where: str | None, select: Select, late: str | None) -> Made:
    """A stream of those events of another that pass."""
    scope = Scope(place, f"stream '{source.name}'", {column.name: column.type for column in source.schema})
    length = None if late is None else _length(place, "late", late)
    return _made(scope, Derivation(source.name, None, (), length), source.schema.columns, where, select)


def joined(
    place: str,
    source: Stream,
    table: View,
    on: str | Mapping[str, str] | None,
    where: str | None,
    select: Select,
    wait: str | None,
) -> Made:
    """A stream of events with the row of a table that belongs to each, as a struct that has the table's name."""
    _refuse_view(place, table)
    row = row_of(table)
    if table.stream.derived is not None:
        raise DeclarationError(
            f"{place}: table '{table.name}' is of a derived stream, whose events come later than their arrival tells\n"
            f"  join with a table of its source '{table.stream.derived.source}'"
        )
    columns = {column.name: column.type for column in source.schema}
    if table.name in columns:
        raise DeclarationError(
            f"{place}: '{table.name}' is a column of stream '{source.name}', too\n  rename the table"
        )
    own = table.keys[: -len(ORDER)]
    scope = Scope(place, f"stream '{source.name}'", columns)
    given = {own[0].name: on} if isinstance(on, str) else on or {key.name: key.name for key in own}
    for name in given:
        if name not in (key.name for key in own):
            raise DeclarationError(unknown(f"{place}: on", "key", name, [key.name for key in own], "the table"))
    pairs = []
    for key in own:
        if key.name not in given:
            raise DeclarationError(f"{place}: on: nothing is compared with the table's key '{key.name}'")
        pairs.append((key.name, scope.expression(given[key.name], expected=key.type).sql))
    join = Join(table.name, _text(table), tuple(pairs), 0 if wait is None else _length(place, "wait", wait))
    wider = Scope(place, f"stream '{source.name}' and table '{table.name}'", columns | {table.name: row})
    chosen = [*columns, table.name] if select is None else select
    return _made(wider, Derivation(source.name, None, (), None, join=join), (), where, chosen)


def changed(place: str, table: View) -> Made:
    """A stream of what became of the rows of a table, in the order in which the log told it."""
    _refuse_view(place, table)
    row, own, source = row_of(table), table.keys[: -len(ORDER)], table.stream
    if source.partitions > 1 and [key.expression.sql for key in own] != [source.key]:
        raise DeclarationError(
            f"{place}: changes of one row of table '{table.name}' are in several partitions, which have no order among "
            f"them\n  expected stream '{source.name}' to have one partition, or key={own[0].expression.sql!r}"
        )
    for key in own:
        if key.name in (BEFORE, AFTER, CUT, TIME):
            raise DeclarationError(
                f"{place}: key '{key.name}' is called like another column of a change log\n  rename it"
            )
    keys = tuple(Column(key.name, key.type) for key in own)
    columns = (Column(TIME, types.TIMESTAMP), *keys, Column(BEFORE, row), Column(AFTER, row), Column(CUT, types.STRING))
    return Derivation(source.name, None, (), None, changes=Changes(table.name, _text(table))), columns


def _refuse_view(place: str, table: View) -> None:
    if table.table is None or "over" in of_view(table):
        raise DeclarationError(f"{place}: view '{table.name}' is no table")


def _text(table: View) -> str:
    return json.dumps(of_view(table), sort_keys=True)


def _length(place: str, name: str, text: str) -> int:
    try:
        return duration(text)
    except UsageError as wrong:
        raise DeclarationError(f"{place}: {name}={text!r}: {wrong}") from None


def _made(scope: Scope, made: Derivation, columns: tuple[Column, ...], where: str | None, select: Select) -> Made:
    """With a condition and with columns of its own."""
    condition = None if where is None else scope.expression(where, expected=types.BOOL).sql
    if select is None:
        return Derivation(made.source, condition, (), made.late, made.join), columns
    named = select if isinstance(select, Mapping) else {column: column for column in select}
    if not named:
        raise DeclarationError(f"{scope.place}: select is empty\n  name at least the column of the event time")
    found = {name: scope.expression(text) for name, text in named.items()}
    columns = tuple(Column(name, expression.type) for name, expression in found.items())
    chosen = tuple((name, expression.sql) for name, expression in found.items())
    return Derivation(made.source, condition, chosen, made.late, made.join), columns
