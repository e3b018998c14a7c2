"""The closed list of functions that users can call, each with the rule that types and places its arguments."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tarnbeck.expression.coerce import (
    as_decimal,
    cast,
    coerce,
    common,
    condition,
    is_number,
    is_ordered,
    only_python,
    result_type,
)
from tarnbeck.expression.moment import UNITS
from tarnbeck.expression.tree import NULL, Call, ExpressionError, Literal, Node, bare
from tarnbeck.schema import types
from tarnbeck.schema.types import BOOL, DATE, DOUBLE, INT, LONG, STRING, TIMESTAMP, Array, Map, Struct, Type

Nodes = Sequence[Node]


@dataclass(frozen=True)
class Function:
    """How a function is written, how many arguments it takes, and what a call of it becomes."""

    shape: str
    least: int
    most: int
    build: Callable[[Nodes, str], Node]


def call(operation: str, arguments: Nodes, kind: Type, sql: str) -> Call:
    return Call(operation, tuple(arguments), kind, sql)


def expect(node: Node, kind: Type, what: str) -> Node:
    """The argument, if it has that very type."""
    if node.type == NULL:
        return coerce(node, kind)
    if node.type != kind:
        raise ExpressionError(f"{what} takes {kind}, '{bare(node.sql)}' is {node.type}", *_hint(node, kind))
    return node


def _hint(node: Node, kind: Type) -> tuple[str, ...]:
    scalar = not isinstance(node.type, (Struct, Array, Map))
    return (f"cast it: cast({bare(node.sql)} as {kind})",) if scalar and kind != BOOL else ()


def number(node: Node, what: str) -> Node:
    """The argument, if it is a number."""
    if node.type == NULL:
        raise ExpressionError(f"{what} takes a number, null has no type here", "give it one: cast(null as bigint)")
    if not is_number(node.type):
        raise ExpressionError(f"{what} takes a number, '{bare(node.sql)}' is {node.type}")
    return node


def whole(node: Node, low: int, what: str) -> Node:
    """A position or length: a literal is checked now, anything else is null below `low` when it runs."""
    if isinstance(node, Literal) and node.type == LONG and node.value is not None:
        if not low <= node.value < 2**31:
            raise ExpressionError(f"{what} takes a whole number from {low} on, found {node.sql}")
        return coerce(node, INT)
    if node.type not in (INT, LONG):
        raise ExpressionError(f"{what} takes a whole number, '{bare(node.sql)}' is {node.type}")
    return call(f"count_from_{low}", [coerce(node, LONG)], INT, node.sql)


def literal(node: Node, kind: Type, what: str) -> Literal:
    """The argument, if it is a literal of that type."""
    if not isinstance(node, Literal) or node.type != kind or node.value is None:
        raise ExpressionError(f"{what} must be a literal of type {kind}, found '{bare(node.sql)}'")
    return node


def _texts(operation: str, kind: Type = STRING) -> Callable[[Nodes, str], Node]:
    return lambda nodes, sql: call(operation, [expect(n, STRING, operation) for n in nodes], kind, sql)


def _abs(nodes: Nodes, sql: str) -> Node:
    node = number(nodes[0], "abs")
    if isinstance(node.type, types.Decimal):
        return call("abs_decimal", [_compact(node, node.type, "abs")], node.type, sql)
    if node.type == DOUBLE:
        return call("abs_double", [node], DOUBLE, sql)
    return call("abs_bigint", [coerce(node, LONG)], LONG, sql)


def _compact(node: Node, kind: types.Decimal, what: str) -> Node:
    # Spark rounds to 34 digits when it changes the sign of a decimal.
    if kind.precision > 34 and not only_python():
        hint = f"cast it: cast({bare(node.sql)} as decimal(34,{kind.scale}))"
        raise ExpressionError(f"{what} takes a decimal of at most 34 digits, found {kind}", hint)
    return node


def _to_whole(name: str) -> Callable[[Nodes, str], Node]:
    def build(nodes: Nodes, sql: str) -> Node:
        node = number(nodes[0], name)
        if node.type == DOUBLE:
            return call(f"{name}_double", [node], LONG, sql)
        if isinstance(node.type, types.Decimal) and node.type.scale:
            kind = types.Decimal(node.type.precision - node.type.scale + 1, 0)
            return call(f"{name}_decimal", [node], kind, sql)
        return dataclasses.replace(_widened(node), sql=sql)

    return build


def _widened(node: Node) -> Node:
    return coerce(node, LONG) if node.type == INT else node


def _round(nodes: Nodes, sql: str) -> Node:
    node = number(nodes[0], "round")
    digits = literal(nodes[1], LONG, "the digits of round").value if len(nodes) == 2 else 0
    if digits < 0:
        raise ExpressionError(f"round takes 0 digits or more, found {digits}")
    if isinstance(node.type, types.Decimal) and digits < node.type.scale:
        kind = types.Decimal(node.type.precision - node.type.scale + digits + 1, digits)
        return call("cast_decimal_decimal", [node], kind, sql)
    if node.type != DOUBLE:
        return dataclasses.replace(_widened(node), sql=sql)
    if digits:
        raise ExpressionError(
            "round to digits takes a decimal: the digits of a double are not exact", "leave the digits out"
        )
    return call("round_double", [node], DOUBLE, sql)


def _sqrt(nodes: Nodes, sql: str) -> Node:
    return call("sqrt_double", [coerce(number(nodes[0], "sqrt"), DOUBLE)], DOUBLE, sql)


def _if(nodes: Nodes, sql: str) -> Node:
    return choice([condition(nodes[0], "if")], [nodes[1]], nodes[2], "if", sql)


def choice(conditions: Nodes, values: Nodes, otherwise: Node, what: str, sql: str) -> Node:
    """The first value whose condition holds."""
    kind = common([*values, otherwise], what)
    arguments: list[Node] = []
    for when, then in zip(conditions, values, strict=True):
        arguments += [when, coerce(then, kind)]
    return call("case", [*arguments, coerce(otherwise, kind)], kind, sql)


def _coalesce(nodes: Nodes, sql: str) -> Node:
    kind = common(nodes, "coalesce")
    return call("coalesce", [coerce(n, kind) for n in nodes], kind, sql)


def _nullif(nodes: Nodes, sql: str) -> Node:
    kind = common(nodes, "nullif")
    if isinstance(kind, (Struct, Array, Map)):
        raise ExpressionError(f"nullif can't compare {kind}")
    return call("nullif", [coerce(n, kind) for n in nodes], kind, sql)


def _extreme(name: str) -> Callable[[Nodes, str], Node]:
    def build(nodes: Nodes, sql: str) -> Node:
        kind = common(nodes, name)
        if not is_ordered(kind):
            raise ExpressionError(f"{name} takes numbers, text or times, found {kind}")
        operation = f"{name}_double" if kind == DOUBLE else name
        return call(operation, [coerce(n, kind) for n in nodes], kind, sql)

    return build


def _substring(nodes: Nodes, sql: str) -> Node:
    text, start = expect(nodes[0], STRING, "substring"), whole(nodes[1], 1, "the start of substring")
    if len(nodes) == 2:
        return call("substring_from", [text, start], STRING, sql)
    return call("substring", [text, start, whole(nodes[2], 0, "the length of substring")], STRING, sql)


def _end(name: str) -> Callable[[Nodes, str], Node]:
    def build(nodes: Nodes, sql: str) -> Node:
        arguments = [expect(nodes[0], STRING, name), whole(nodes[1], 0, f"the length of {name}")]
        return call(name, arguments, STRING, sql)

    return build


def _split_part(nodes: Nodes, sql: str) -> Node:
    separator = literal(nodes[1], STRING, "the separator of split_part")
    place = literal(nodes[2], LONG, "the number of split_part")
    if not separator.value:
        raise ExpressionError("the separator of split_part can't be empty")
    if not 0 < abs(place.value) < 2**31:
        raise ExpressionError("split_part counts parts from 1, or from the end with -1", f"found {place.sql}")
    return call("split_part", [expect(nodes[0], STRING, "split_part"), separator, coerce(place, INT)], STRING, sql)


def _part(name: str, *kinds: Type) -> Callable[[Nodes, str], Node]:
    def build(nodes: Nodes, sql: str) -> Node:
        node = nodes[0]
        if node.type not in kinds:
            raise ExpressionError(f"{name} takes {' or '.join(map(str, kinds))}, '{bare(node.sql)}' is {node.type}")
        return call(name, [node], LONG, sql)

    return build


def _date_trunc(nodes: Nodes, sql: str) -> Node:
    unit = literal(nodes[0], STRING, "the unit of date_trunc")
    if unit.value not in UNITS:
        raise ExpressionError(f"date_trunc has no unit '{unit.value}'", f"units: {', '.join(UNITS)}")
    return call("date_trunc", [unit, expect(nodes[1], TIMESTAMP, "date_trunc")], TIMESTAMP, sql)


def _to_date(nodes: Nodes, sql: str) -> Node:
    return dataclasses.replace(cast(expect(nodes[0], TIMESTAMP, "to_date"), DATE), sql=sql)


def _size(nodes: Nodes, sql: str) -> Node:
    match nodes[0].type:
        case Array():
            return call("size_array", nodes, LONG, sql)
        case Map():
            return call("size_map", nodes, LONG, sql)
        case kind:
            raise ExpressionError(f"size takes an array or a map, '{bare(nodes[0].sql)}' is {kind}")


def _array_contains(nodes: Nodes, sql: str) -> Node:
    kind = nodes[0].type
    if not isinstance(kind, Array) or isinstance(kind.element, (Struct, Array, Map)):
        raise ExpressionError(f"array_contains takes an array of plain values, '{bare(nodes[0].sql)}' is {kind}")
    element = Literal(None, kind.element, "")
    value = coerce(nodes[1], common([element, nodes[1]], "array_contains"))
    return call("array_contains", [nodes[0], expect(value, kind.element, "array_contains")], BOOL, sql)


def _map_contains_key(nodes: Nodes, sql: str) -> Node:
    if not isinstance(nodes[0].type, Map):
        raise ExpressionError(f"map_contains_key takes a map, '{bare(nodes[0].sql)}' is {nodes[0].type}")
    return call("map_contains_key", [nodes[0], expect(nodes[1], STRING, "map_contains_key")], BOOL, sql)


def arithmetic(operation: str, sign: str, left: Node, right: Node, sql: str) -> Node:
    """`+ - * %` on two numbers."""
    left, right = number(left, f"'{sign}'"), number(right, f"'{sign}'")
    if DOUBLE in (left.type, right.type):
        if operation == "remainder":
            raise ExpressionError("'%' takes whole numbers or decimals, not doubles")
        return call(f"{operation}_double", [coerce(left, DOUBLE), coerce(right, DOUBLE)], DOUBLE, sql)
    if not any(isinstance(n.type, types.Decimal) for n in (left, right)):
        return call(f"{operation}_bigint", [coerce(left, LONG), coerce(right, LONG)], LONG, sql)
    a, b = as_decimal(left), as_decimal(right)
    return call(f"{operation}_decimal", [coerce(left, a), coerce(right, b)], _result(operation, sign, a, b), sql)


def _result(operation: str, sign: str, a: types.Decimal, b: types.Decimal) -> types.Decimal:
    what = f"'{sign}' of {a} and {b}"
    if operation == "multiply":
        return result_type(a.precision + b.precision + 1, a.scale + b.scale, what)
    scale = max(a.scale, b.scale)
    whole_a, whole_b = a.precision - a.scale, b.precision - b.scale
    if operation == "remainder":
        result_type(max(whole_a, whole_b) + scale, scale, what)
        return types.Decimal(min(whole_a, whole_b) + scale, scale)
    return result_type(max(whole_a, whole_b) + scale + 1, scale, what)


def negative(node: Node, sql: str) -> Node:
    """Unary minus."""
    node = number(node, "'-'")
    if isinstance(node.type, types.Decimal):
        return call("negate_decimal", [_compact(node, node.type, "'-'")], node.type, sql)
    if node.type == DOUBLE:
        return call("negate_double", [node], DOUBLE, sql)
    return call("negate_bigint", [coerce(node, LONG)], LONG, sql)


FUNCTIONS = {
    "abs": Function("abs(x)", 1, 1, _abs),
    "array_contains": Function("array_contains(array, value)", 2, 2, _array_contains),
    "ceil": Function("ceil(x)", 1, 1, _to_whole("ceil")),
    "coalesce": Function("coalesce(x, y, ..)", 1, 255, _coalesce),
    "concat": Function("concat(s, t, ..)", 1, 255, _texts("concat")),
    "contains": Function("contains(s, part)", 2, 2, _texts("contains", BOOL)),
    "date_trunc": Function("date_trunc('unit', timestamp)", 2, 2, _date_trunc),
    "day": Function("day(timestamp or date)", 1, 1, _part("day", TIMESTAMP, DATE)),
    "dayofweek": Function("dayofweek(timestamp or date)", 1, 1, _part("dayofweek", TIMESTAMP, DATE)),
    "ends_with": Function("ends_with(s, end)", 2, 2, _texts("ends_with", BOOL)),
    "floor": Function("floor(x)", 1, 1, _to_whole("floor")),
    "greatest": Function("greatest(x, y, ..)", 2, 255, _extreme("greatest")),
    "hour": Function("hour(timestamp)", 1, 1, _part("hour", TIMESTAMP)),
    "if": Function("if(condition, then, else)", 3, 3, _if),
    "least": Function("least(x, y, ..)", 2, 255, _extreme("least")),
    "left": Function("left(s, length)", 2, 2, _end("left")),
    "length": Function("length(s)", 1, 1, _texts("length", LONG)),
    "lower": Function("lower(s)", 1, 1, _texts("lower")),
    "ltrim": Function("ltrim(s)", 1, 1, _texts("ltrim")),
    "map_contains_key": Function("map_contains_key(map, key)", 2, 2, _map_contains_key),
    "minute": Function("minute(timestamp)", 1, 1, _part("minute", TIMESTAMP)),
    "month": Function("month(timestamp or date)", 1, 1, _part("month", TIMESTAMP, DATE)),
    "nullif": Function("nullif(x, y)", 2, 2, _nullif),
    "replace": Function("replace(s, old, new)", 3, 3, _texts("replace")),
    "right": Function("right(s, length)", 2, 2, _end("right")),
    "round": Function("round(x[, digits])", 1, 2, _round),
    "rtrim": Function("rtrim(s)", 1, 1, _texts("rtrim")),
    "second": Function("second(timestamp)", 1, 1, _part("second", TIMESTAMP)),
    "size": Function("size(array or map)", 1, 1, _size),
    "split_part": Function("split_part(s, 'separator', number)", 3, 3, _split_part),
    "sqrt": Function("sqrt(x)", 1, 1, _sqrt),
    "starts_with": Function("starts_with(s, start)", 2, 2, _texts("starts_with", BOOL)),
    "substring": Function("substring(s, start[, length])", 2, 3, _substring),
    "to_date": Function("to_date(timestamp)", 1, 1, _to_date),
    "trim": Function("trim(s)", 1, 1, _texts("trim")),
    "unix_micros": Function("unix_micros(timestamp)", 1, 1, _part("unix_micros", TIMESTAMP)),
    "unix_millis": Function("unix_millis(timestamp)", 1, 1, _part("unix_millis", TIMESTAMP)),
    "unix_seconds": Function("unix_seconds(timestamp)", 1, 1, _part("unix_seconds", TIMESTAMP)),
    "upper": Function("upper(s)", 1, 1, _texts("upper")),
    "year": Function("year(timestamp or date)", 1, 1, _part("year", TIMESTAMP, DATE)),
}

REFUSED = {
    "ln": "its last bit differs between engines, so answers could not be equal",
    "log": "its last bit differs between engines, so answers could not be equal",
    "exp": "its last bit differs between engines, so answers could not be equal",
    "power": "its last bit differs between engines, so answers could not be equal; write x * x",
    "pow": "its last bit differs between engines, so answers could not be equal; write x * x",
    "now": "an answer must not depend on when it is computed",
    "current_timestamp": "an answer must not depend on when it is computed",
    "current_date": "an answer must not depend on when it is computed",
    "random": "an answer must not depend on chance",
    "rand": "an answer must not depend on chance",
    "uuid": "an answer must not depend on chance",
    "count": "aggregates are written with tb.count(), tb.sum(..) and the like, not inside of an expression",
    "sum": "aggregates are written with tb.count(), tb.sum(..) and the like, not inside of an expression",
    "avg": "aggregates are written with tb.count(), tb.sum(..) and the like, not inside of an expression",
    "min": "aggregates are written with tb.min(..); the smallest of several values is least(x, y)",
    "max": "aggregates are written with tb.max(..); the largest of several values is greatest(x, y)",
    "try_cast": "cast(x as type) already gives null where it can't convert",
}
