"""A view's aggregation as the pieces of one SQL query, the same for every SQL engine."""

from __future__ import annotations

from dataclasses import dataclass

from tarnbeck.algebra.state import ORDER, Dialect
from tarnbeck.expression import Expression
from tarnbeck.plan.view import View
from tarnbeck.schema import types
from tarnbeck.schema.types import Decimal, Type
from tarnbeck.window.pane import Fixed, Pane, Whole

Named = tuple[tuple[str, str], ...]
"""Columns as (name, SQL): `SQL AS name`."""

MICROS: dict[Dialect, str] = {"spark": "unix_micros({})", "duckdb": "epoch_us({})"}
DAYS: dict[Dialect, str] = {
    "spark": "CAST(unix_date({}) AS BIGINT)",
    "duckdb": "CAST({} - DATE '1970-01-01' AS BIGINT)",
}
TEXT: dict[Dialect, str] = {"spark": "STRING", "duckdb": "VARCHAR"}
CAST = "CAST({} AS BIGINT)"


@dataclass(frozen=True)
class Query:
    """select (over events that pass `where`), then group by `keys` and aggregate, then project."""

    select: Named
    where: str | None
    group: tuple[str, ...]
    aggregate: Named
    project: Named


def partials(view: View, dialect: Dialect) -> Query:
    """Events to the partial of the view's finest level.

    Where the pane is a calendar's, the engine puts it into a column `_pane` of its input first: see `calendar`.
    """
    keys = [(f"k{i}", raw(key.expression, dialect)) for i, key in enumerate(view.keys)]
    distinct = dict.fromkeys(argument for call in view.states for argument in call.arguments)
    arguments = {argument: f"a{i}" for i, argument in enumerate(distinct)}
    select = [
        *keys,
        ("t", MICROS[dialect].format("_time")),
        *((name, name) for name in ORDER[1:]),
        ("pane", pane_of(view.window.panes[0], MICROS[dialect].format("_time"), dialect)),
        *((name, raw(argument, dialect)) for argument, name in arguments.items()),
    ]
    calls: list[tuple[str, str]] = []
    fields: list[str] = []
    for call in view.states:
        results = call.state.aggregate([arguments[argument] for argument in call.arguments], dialect)
        names = [f"x{len(calls) + i}" for i in range(len(results))]
        calls += zip(names, results, strict=True)
        fields += call.state.unpack(names, dialect, regrouped=False)
    return Query(tuple(select), _where(view, dialect), _group(view), tuple(calls), _project(view, fields))


def regroup(view: View, level: int, dialect: Dialect) -> Query:
    """The partial of the level below to the partial of this level (a rollup's coarser unit)."""
    columns = [f"s{i}" for i in range(len(view.layout.states))]
    select = [
        *((f"k{i}", f"k{i}") for i in range(len(view.keys))),
        ("pane", pane_of(view.window.panes[level], "pane", dialect)),
        *((column, column) for column in columns),
    ]
    calls: list[tuple[str, str]] = []
    fields: list[str] = []
    for call in view.states:
        mine, columns = columns[: len(call.state.fields)], columns[len(call.state.fields) :]
        results = call.state.regroup(mine, dialect)
        names = [f"x{len(calls) + i}" for i in range(len(results))]
        calls += zip(names, results, strict=True)
        fields += call.state.unpack(names, dialect, regrouped=True)
    return Query(tuple(select), None, _group(view), tuple(calls), _project(view, fields))


def calendar(pane: Pane) -> bool:
    """Whether the engine must compute this pane's start itself, by `Pane.starts_of`."""
    return not isinstance(pane, (Fixed, Whole))


def pane_of(pane: Pane, moment: str, dialect: Dialect) -> str:
    if isinstance(pane, Whole):
        return "CAST(0 AS BIGINT)"
    if isinstance(pane, Fixed):
        since = f"({moment} - {pane.origin})" if pane.origin else moment
        if dialect == "spark":
            return f"{moment} - pmod({since}, {pane.length})"
        return f"{moment} - ((({since} % {pane.length}) + {pane.length}) % {pane.length})"
    return "_pane"


def raw(expression: Expression, dialect: Dialect) -> str:
    """SQL for the raw form of a scalar expression's value."""
    sql = expression.spark() if dialect == "spark" else expression.duckdb()
    return raw_of(expression.type, sql, dialect)


def raw_of(type_: Type, sql: str, dialect: Dialect) -> str:
    if type_ == types.TIMESTAMP:
        return MICROS[dialect].format(sql)
    if type_ == types.DATE:
        return DAYS[dialect].format(sql)
    if type_ in (types.BOOL, types.INT):
        return CAST.format(sql)
    if isinstance(type_, Decimal):
        if type_.precision <= 18:
            # DuckDB multiplies in the width of the column, which the product may exceed; Spark widens by itself.
            wide = f"CAST({sql} AS DECIMAL(38,{type_.scale})) * {10**type_.scale}" if dialect == "duckdb" else None
            return CAST.format((wide or f"({sql}) * {10**type_.scale}") if type_.scale else sql)
        # Scaling a wide decimal up would need more than 38 digits on the way; dropping the point does not.
        return f"CAST(replace(CAST({sql} AS {TEXT[dialect]}), '.', '') AS DECIMAL(38,0))"
    return sql


def _where(view: View, dialect: Dialect) -> str | None:
    tests = []
    if view.where is not None:
        tests.append(view.where.spark() if dialect == "spark" else view.where.duckdb())
    if view.late is not None:
        received, moment = (MICROS[dialect].format(column) for column in ("_received", "_time"))
        tests.append(f"{received} - {moment} <= {view.late}")
    return " AND ".join(f"({test})" for test in tests) if tests else None


def _group(view: View) -> tuple[str, ...]:
    return (*(f"k{i}" for i in range(len(view.keys))), "pane")


def _project(view: View, fields: list[str]) -> Named:
    """Casts to the layout's types, so that every engine gives the very same Arrow schema."""
    keys = [(f"k{i}", _as(physical, f"k{i}")) for i, physical in enumerate(view.layout.keys)]
    states = [(f"s{i}", _as(physical, fields[i])) for i, physical in enumerate(view.layout.states)]
    return (*keys, ("pane", "pane"), *states)


def _as(physical: types.Physical, sql: str) -> str:
    return f"CAST({sql} AS DECIMAL(38,0))" if physical is types.Physical.WIDE else sql
