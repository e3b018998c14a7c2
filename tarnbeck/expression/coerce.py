"""How types meet: the common type of several values, and the cast that brings a value to it."""

from __future__ import annotations

import dataclasses
import decimal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeGuard

from tarnbeck.expression.numeric import INT_MAX, INT_MIN, fitted
from tarnbeck.expression.table import OPERATIONS
from tarnbeck.expression.tree import NULL, Call, ExpressionError, Literal, Node, bare
from tarnbeck.schema import types
from tarnbeck.schema.types import BOOL, DOUBLE, INT, LONG, STRING, TIMESTAMP, Type

MOST_DIGITS = 38
_WHOLE_DIGITS = {INT: 10, LONG: 19}
_FINISHED = ContextVar("finished", default=False)


def is_number(kind: Type) -> bool:
    return kind in (INT, LONG, DOUBLE) or isinstance(kind, types.Decimal)


def is_ordered(kind: Type) -> bool:
    """Whether values of this type can be put in order; booleans and binary can only be equal."""
    return is_number(kind) or kind in (STRING, TIMESTAMP, types.DATE)


def decimal_type(precision: int, scale: int, what: str) -> types.Decimal:
    """A decimal type, refused if it needs more digits than any engine has."""
    if precision > MOST_DIGITS:
        raise ExpressionError(
            f"{what} could need {precision} digits, a decimal has at most {MOST_DIGITS}",
            "cast an operand to fewer digits, such as cast(x as decimal(18,4)), or to double",
        )
    return types.Decimal(precision, scale)


def result_type(precision: int, scale: int, what: str) -> types.Decimal:
    """The decimal type of what is computed; of finished values, one that overflows to null instead of being refused."""
    if _FINISHED.get() and scale <= MOST_DIGITS:
        precision = min(precision, MOST_DIGITS)
    return decimal_type(precision, scale, what)


@contextmanager
def of_finished_values() -> Iterator[None]:
    """Within this, expressions are checked that only Python computes, so that no other engine's limits count."""
    token = _FINISHED.set(True)
    try:
        yield
    finally:
        _FINISHED.reset(token)


def only_python() -> bool:
    return _FINISHED.get()


def as_decimal(node: Node) -> types.Decimal:
    """The smallest decimal type that holds every value of an exact number."""
    if isinstance(node.type, types.Decimal):
        return node.type
    if _adapts(node):
        return types.Decimal(len(str(abs(node.value))), 0)
    return types.Decimal(_WHOLE_DIGITS[node.type], 0)  # type: ignore[index]


def common(nodes: Sequence[Node], what: str) -> Type:
    """The type all these values can be brought to; literals adapt to the others wherever they fit exactly."""
    typed = [node for node in nodes if node.type != NULL]
    if not typed:
        raise ExpressionError(f"{what} has no type: all its values are null", "give one a type: cast(null as bigint)")
    fixed = [node for node in typed if not _adapts(node)] or typed[:1]
    kind = fixed[0].type
    for node in fixed[1:]:
        kind = _meet(kind, node.type, what)
    for node in typed:
        if _adapts(node) and not _holds(kind, node):
            kind = _meet(kind, LONG if node.type == LONG and kind == INT else _smallest(node), what)
    return kind


def _adapts(node: Node) -> TypeGuard[Literal]:
    return isinstance(node, Literal) and node.value is not None


def _smallest(node: Literal) -> Type:
    return as_decimal(node) if node.type == LONG else node.type


def _meet(a: Type, b: Type, what: str) -> Type:
    if a == b:
        return a
    if not (is_number(a) and is_number(b)):
        raise ExpressionError(f"{what} can't mix {a} and {b}", *_mixing_hint(a, b))
    if DOUBLE in (a, b):
        return DOUBLE
    if a in _WHOLE_DIGITS and b in _WHOLE_DIGITS:
        return LONG
    (whole_a, scale_a), (whole_b, scale_b) = _digits(a), _digits(b)
    scale = max(scale_a, scale_b)
    return result_type(max(whole_a, whole_b) + scale, scale, what)


def _mixing_hint(a: Type, b: Type) -> tuple[str, ...]:
    if TIMESTAMP in (a, b):
        return ("write a timestamp as timestamp '2026-01-31T12:00:00Z'",)
    if types.DATE in (a, b):
        return ("write a date as date '2026-01-31'",)
    return (f"cast one of them: cast(x as {b if a == STRING else a})",)


def _digits(kind: Type) -> tuple[int, int]:
    if isinstance(kind, types.Decimal):
        return kind.precision - kind.scale, kind.scale
    return _WHOLE_DIGITS[kind], 0  # type: ignore[index]


def _holds(kind: Type, node: Literal) -> bool:
    """Whether a literal is exactly a value of that type (next to a double, any number counts as one)."""
    if kind == node.type or (kind == DOUBLE and is_number(node.type)):
        return True
    if kind == INT and node.type == LONG:
        return bool(INT_MIN <= node.value <= INT_MAX)
    if isinstance(kind, types.Decimal) and node.type != DOUBLE and is_number(node.type):
        return bool(fitted(decimal.Decimal(node.value), kind) == node.value)
    return False


def coerce(node: Node, to: Type) -> Node:
    """The node with that type; the canonical text stays, for this cast is not the user's."""
    if node.type == to:
        return node
    if isinstance(node, Literal):
        if node.value is None:
            return dataclasses.replace(node, type=to)
        if _holds(to, node):
            return dataclasses.replace(node, type=to, value=_literal_value(node, to))
    return _cast(node, to, node.sql)


def _literal_value(node: Literal, to: Type) -> object:
    if to == DOUBLE:
        return float(node.value)
    if isinstance(to, types.Decimal):
        return fitted(decimal.Decimal(node.value), to)
    return node.value


def _kind(kind: Type) -> str:
    return "decimal" if isinstance(kind, types.Decimal) else str(kind)


def _cast(node: Node, to: Type, sql: str) -> Call:
    name = f"cast_{_kind(node.type)}_{_kind(to)}"
    if name == "cast_decimal_double" and as_decimal(node).precision > 15:
        name = "cast_wide_decimal_double"
    if name not in OPERATIONS or _prints_differently(node.type, to):
        raise ExpressionError(f"can't cast {node.type} to {to}", *_CAST_HINTS.get((_kind(node.type), _kind(to)), ()))
    return Call(name, (node,), to, sql)


def _prints_differently(source: Type, to: Type) -> bool:
    # DuckDB leaves out the zero before the point of such a decimal, and there is no wider type to cure it.
    return to == STRING and isinstance(source, types.Decimal) and source.precision == source.scale == MOST_DIGITS


_CAST_HINTS = {
    ("double", "decimal"): ("declare the column as decimal, or use cast(round(x * 100) as bigint)",),
    ("double", "string"): ("cast it to bigint first",),
    ("timestamp", "string"): ("cast it to date first, or use unix_micros(x)",),
    ("bigint", "timestamp"): ("declare the event time as tb.epoch(column, unit), or compare with unix_micros(x)",),
    ("int", "boolean"): ("write x <> 0",),
    ("bigint", "boolean"): ("write x <> 0",),
    ("decimal", "boolean"): ("write x <> 0",),
    ("double", "boolean"): ("write x <> 0",),
}


def cast(node: Node, to: Type) -> Node:
    """A cast that the user wrote."""
    sql = f"CAST({bare(node.sql)} AS {str(to).upper()})"
    if node.type == NULL:
        return Literal(None, to, sql)
    if node.type == to:
        return dataclasses.replace(node, sql=sql)
    source = _zero_before_point(node) if to == STRING else node
    return _cast(source, to, sql)


def _zero_before_point(node: Node) -> Node:
    kind = node.type
    if isinstance(kind, types.Decimal) and kind.precision == kind.scale < MOST_DIGITS:
        return _cast(node, types.Decimal(kind.precision + 1, kind.scale), node.sql)
    return node


def condition(node: Node, what: str) -> Node:
    """A boolean where one is needed."""
    if node.type not in (BOOL, NULL):
        raise ExpressionError(f"{what} needs a boolean, '{bare(node.sql)}' is {node.type}", "compare it with something")
    return coerce(node, BOOL)
