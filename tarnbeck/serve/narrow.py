"""Which part of a view a SQL query can need: conditions of its WHERE that keys, levels and panes can be sought by."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from tarnbeck.errors import UsageError
from tarnbeck.plan.view import View
from tarnbeck.schema import types
from tarnbeck.schema.types import Decimal, ScalarType
from tarnbeck.serve import called, moment, values
from tarnbeck.serve.answer import MOST, Question
from tarnbeck.serve.called import Fold
from tarnbeck.serve.shape import Shape
from tarnbeck.window.window import Rollup

MOST_QUESTIONS = 200
"""Seeks that one table of a query may cost; a longer list of keys reads the whole view."""

LEVEL = "level"
START = "start"


class _Unfit(Exception):
    """A condition that can't be sought by; the engine alone decides it."""


@dataclass
class _Bounds:
    """The values that may matter, by key or level, and the panes."""

    among: dict[str, list[Any]] = field(default_factory=dict)
    since: int | None = None
    until: int | None = None

    def only(self, name: str, allowed: Sequence[Any]) -> None:
        known = self.among.get(name)
        distinct = list(dict.fromkeys(allowed))
        self.among[name] = distinct if known is None else [value for value in known if value in distinct]

    def within(self, since: int | None, until: int | None) -> None:
        """Only bounds that the calendar knows: leaving one out asks for more, never for less."""
        if since is not None and moment.EARLIEST <= since <= moment.LATEST:
            self.since = since if self.since is None else max(self.since, since)
        if until is not None and moment.EARLIEST <= until <= moment.LATEST:
            self.until = until if self.until is None else min(self.until, until)


@dataclass(frozen=True)
class _Sought:
    """The columns of a table by which its view can be sought: keys by the name that SQL has for them, level, start."""

    alias: str
    keys: Mapping[str, tuple[str, ScalarType]]
    level: bool
    start: bool


def questions(view: View, table: exp.Table, fold: Fold) -> list[Question]:
    """Questions whose answers hold, together and each row once, all that this table of a query can need."""
    if isinstance(table.this, exp.Anonymous):
        return _called(view, table, fold)
    keys = {key.name.lower(): (key.name, key.type) for key in view.keys}
    bounds = _bounds(_Sought(table.alias_or_name, keys, isinstance(view.window, Rollup), _windowed(view)), table, fold)
    wanted = bounds.among.pop(LEVEL, view.window.levels)
    levels = [level for level in view.window.levels if level in wanted]
    if len(levels) * _product(bounds.among) > MOST_QUESTIONS:
        bounds.among.clear()
    return [
        Question(view.name, key, level, bounds.since, bounds.until, MOST)
        for level in levels
        for key in _combined(bounds.among)
    ]


def _called(view: View, table: exp.Table, fold: Fold) -> list[Question]:
    """The questions of a view that is written as a function: what its arguments ask for, narrowed where that is safe.

    A condition is on the rows that the function gives. It may be one on what is stored only if it chooses among those
    rows without changing any: a sum so far needs the windows before, a filled gap is as wide as the other rows make it.
    """
    asked = called.question(view, table.this, lambda constant: _folding(constant, fold))
    shape = asked.shape
    keys = {} if shape.fill else _same_keys(view, shape, asked.keys)
    start = _windowed(view) and not (shape.fill or shape.cumulative or shape.one or asked.against is not None)
    alias = table.alias or table.this.name
    bounds = _bounds(_Sought(alias, keys, level=False, start=start), table, fold)
    bounds.within(asked.since, asked.until)
    # Nothing to ask would leave the columns unknown.
    if not 0 < _product(bounds.among) <= MOST_QUESTIONS:
        bounds.among.clear()
    since, until = (bounds.since, bounds.until) if start else (asked.since, asked.until)
    return [replace(asked, keys={**asked.keys, **key}, since=since, until=until) for key in _combined(bounds.among)]


def _same_keys(view: View, shape: Shape, chosen: Mapping[str, Any]) -> dict[str, tuple[str, ScalarType]]:
    """The columns that are just a key of the view, which the arguments don't choose already."""
    types_of = {key.name: key.type for key in view.keys if key.name not in chosen}
    named = [(name, name) for name in types_of] if shape.by is None else shape.by
    return {name.lower(): (text, types_of[text]) for name, text in named if text in types_of}


def _bounds(sought: _Sought, table: exp.Table, fold: Fold) -> _Bounds:
    bounds = _Bounds()
    for condition in _conditions(table):
        try:
            _apply(sought, condition, bounds, fold)
        except _Unfit:
            continue
    return bounds


def _combined(among: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    return (dict(zip(among, key, strict=True)) for key in itertools.product(*among.values()))


def _product(among: Mapping[str, Sequence[Any]]) -> int:
    size = 1
    for allowed in among.values():
        size *= len(allowed)
    return size


_CHANGES = ("joins", "laterals", "pivots", "sample")
"""What makes rows of other tables, or not the table's own rows, come before WHERE."""


def _conditions(table: exp.Table) -> Iterator[exp.Expr]:
    """What must hold for every row of the table that the query sees: only where it is the one source of a SELECT."""
    select = table.parent.parent if isinstance(table.parent, exp.From) else None
    if not isinstance(select, exp.Select) or table.alias_column_names:
        return
    if any(part.args.get(name) for part in (select, table) for name in _CHANGES):
        return
    where = select.args.get("where")
    if where is not None:
        yield from _conjuncts(where.this)


def _conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    condition = condition.unnest()
    if isinstance(condition, exp.And):
        yield from _conjuncts(condition.left)
        yield from _conjuncts(condition.right)
    else:
        yield condition


def _apply(sought: _Sought, condition: exp.Expr, bounds: _Bounds, fold: Fold) -> None:
    rule = _RULES.get(type(condition))
    if rule is None:
        raise _Unfit
    rule(sought, condition, bounds, fold)


def _column(found: exp.Expr | None, alias: str) -> str:
    """The name of a column of this table, as DuckDB compares names: without case."""
    if not isinstance(found, exp.Column) or found.args.get("db") or found.table.lower() not in ("", alias.lower()):
        raise _Unfit
    return found.name.lower()


def _equal(sought: _Sought, condition: exp.Expr, bounds: _Bounds, fold: Fold) -> None:
    left, right = condition.this, condition.expression
    if not isinstance(left, exp.Column):
        left, right = right, left
    if _column(left, sought.alias) == START and sought.start:
        at = _folded(right, fold)
        bounds.within(at, at + 1)
    else:
        _only(sought, _column(left, sought.alias), [right], bounds)


def _in(sought: _Sought, condition: exp.Expr, bounds: _Bounds, fold: Fold) -> None:
    if condition.args.get("query") or condition.args.get("unnest") or condition.args.get("field"):
        raise _Unfit
    _only(sought, _column(condition.this, sought.alias), condition.expressions, bounds)


def _is(sought: _Sought, condition: exp.Expr, bounds: _Bounds, fold: Fold) -> None:
    name = _column(condition.this, sought.alias)
    if not isinstance(condition.expression, exp.Null) or name not in sought.keys:
        raise _Unfit
    bounds.only(sought.keys[name][0], [None])


def _only(sought: _Sought, name: str, constants: Sequence[exp.Expr], bounds: _Bounds) -> None:
    if name == LEVEL and sought.level:
        bounds.only(LEVEL, [_literal(constant, types.STRING) for constant in constants])
    elif name in sought.keys:
        real, type_ = sought.keys[name]
        bounds.only(real, [_literal(constant, type_) for constant in constants])
    else:
        raise _Unfit


def _windowed(view: View) -> bool:
    return view.window.panes[0].end_of(0) is not None


def _compare(sought: _Sought, condition: exp.Expr, bounds: _Bounds, fold: Fold) -> None:
    left, right, kind = condition.this, condition.expression, type(condition)
    if not isinstance(left, exp.Column):
        left, right, kind = right, left, _TURNED[kind]
    if _column(left, sought.alias) != START or not sought.start:
        raise _Unfit
    at = _folded(right, fold)
    if kind in (exp.GT, exp.GTE):
        bounds.within(at, None)
    else:
        bounds.within(None, at + 1 if kind is exp.LTE else at)


def _between(sought: _Sought, condition: exp.Expr, bounds: _Bounds, fold: Fold) -> None:
    if _column(condition.this, sought.alias) != START or not sought.start or condition.args.get("symmetric"):
        raise _Unfit
    bounds.within(_folded(condition.args["low"], fold), _folded(condition.args["high"], fold) + 1)


_RULES: Mapping[type[exp.Expr], Callable[[_Sought, exp.Expr, _Bounds, Fold], None]] = {
    exp.EQ: _equal,
    exp.In: _in,
    exp.Is: _is,
    exp.Between: _between,
    **dict.fromkeys((exp.GT, exp.GTE, exp.LT, exp.LTE), _compare),
}
_TURNED: Mapping[type[exp.Expr], type[exp.Expr]] = {
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
}

_CONSTANT = (
    exp.Literal,
    exp.Cast,
    exp.DataType,
    exp.CurrentTimestamp,
    exp.CurrentDate,
    exp.Interval,
    exp.Var,
    exp.Add,
    exp.Sub,
    exp.Paren,
    exp.TimestampTrunc,
    exp.DateTrunc,
)
"""What the value of can't change within one transaction, and can't be null or fail for one row only."""


def _folded(constant: exp.Expr, fold: Fold) -> int:
    at = _folding(constant, fold)
    if at is None:
        raise _Unfit
    return at


def _folding(constant: exp.Expr, fold: Fold) -> int | None:
    """The moment of what is a constant beyond doubt; else none."""
    return fold(constant) if all(isinstance(node, _CONSTANT) or _now(node) for node in constant.walk()) else None


def _now(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower() == "now" and not node.expressions


def _literal(constant: exp.Expr, type_: ScalarType) -> Any:
    """The key value that a literal is equal to in SQL, if that is beyond doubt."""
    sign = ""
    if isinstance(constant, exp.Neg):
        constant, sign = constant.this, "-"
    if isinstance(constant, exp.Boolean) and type_ == types.BOOL and not sign:
        return bool(constant.this)
    if not isinstance(constant, exp.Literal):
        raise _Unfit
    if type_ == types.STRING and constant.is_string and not sign:
        return constant.this
    exact = type_ in (types.INT, types.LONG) or isinstance(type_, Decimal)
    if not exact or constant.is_string or "e" in constant.this.lower():
        raise _Unfit
    try:
        values.key(sign + constant.this, type_, "sql")
    except UsageError:
        raise _Unfit from None
    return sign + constant.this
