"""From SQL text to a checked tree: names are resolved, types inferred, everything outside the closed list refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from sqlglot import exp

from tarnbeck.expression.coerce import cast, coerce, common, condition, decimal_type, is_ordered
from tarnbeck.expression.functions import (
    FUNCTIONS,
    REFUSED,
    arithmetic,
    call,
    choice,
    expect,
    literal,
    negative,
    number,
    whole,
)
from tarnbeck.expression.names import identifier, member, name_of, resolve, unknown
from tarnbeck.expression.numeric import LONG_MAX, LONG_MIN
from tarnbeck.expression.parse import parse
from tarnbeck.expression.run import compiled
from tarnbeck.expression.tree import NULL, PATTERN, ExpressionError, Literal, Node, Reference, bare
from tarnbeck.schema import types
from tarnbeck.schema.types import BOOL, DATE, DOUBLE, INT, LONG, STRING, TIMESTAMP, Array, Map, Struct, Type

DEEPEST = 120
"""Levels of nesting: far more than people write, and few enough for every engine's recursive parser."""


@dataclass(frozen=True)
class Scope:
    """The columns an expression can see, and who has them."""

    columns: Mapping[str, Type]
    owner: str
    depth: int = 0

    def node(self, found: exp.Expr) -> Node:
        """The checked node of a part of the text."""
        if self.depth >= DEEPEST:
            raise ExpressionError(f"the expression is nested more than {DEEPEST} levels deep")
        form = FORMS.get(type(found))
        if form is None:
            raise ExpressionError(f"{name_of(found)} is not allowed")
        build, allowed = form
        extra = [name for name, value in found.args.items() if value and name not in allowed]
        if extra:
            raise ExpressionError(f"{name_of(found)} with '{extra[0]}' is not allowed")
        return build(Scope(self.columns, self.owner, self.depth + 1), found)

    def nodes(self, found: Iterable[exp.Expr]) -> list[Node]:
        return [self.node(one) for one in found]


def checked(text: str, columns: Mapping[str, Type], owner: str) -> Node:
    """The checked tree of an expression over these columns, or ExpressionError."""
    node = Scope(columns, owner).node(parse(text))
    if node.type == NULL:
        raise ExpressionError("null has no type here", "give it one: cast(null as bigint)")
    return node


def _column(scope: Scope, found: exp.Expr) -> Node:
    path = [found.args.get(part) for part in ("catalog", "db", "table", "this")]
    first, *rest = [part for part in path if part is not None]
    if first is not None and first.name not in scope.columns and first.name.lower() in REFUSED:
        raise _refused_function(first.name.lower())
    name = resolve(first, scope.columns, "column", scope.owner)
    node: Node = Reference(name, scope.columns[name], identifier(name))
    for part in rest:
        node = member(node, part)
    return node


def _dot(scope: Scope, found: exp.Expr) -> Node:
    return member(scope.node(found.this), found.args.get("expression"))


def _bracket(scope: Scope, found: exp.Expr) -> Node:
    owner, keys = scope.node(found.this), found.expressions
    if len(keys) != 1:
        raise ExpressionError("one index belongs between [ and ]")
    key = scope.node(keys[0])
    sql = f"{owner.sql}[{bare(key.sql)}]"
    match owner.type:
        case Array():
            return call("item", [owner, whole(key, 0, "an array's index")], owner.type.element, sql)
        case Map():
            return call("entry", [owner, expect(key, STRING, "a map's key")], owner.type.value, sql)
        case _:
            raise ExpressionError(f"'{bare(owner.sql)}' is {owner.type}, only an array or a map takes [..]")


def _literal(_scope: Scope, found: exp.Expr) -> Node:
    text = found.name
    if found.is_string:
        return Literal(text, STRING, "'" + text.replace("'", "''") + "'")
    return _number(text)


def _number(text: str) -> Literal:
    if "e" in text.lower():
        return _double(text)
    exact = Decimal(text)
    scale = -int(exact.as_tuple().exponent)
    if scale <= 0:
        return _whole(int(exact))
    digits = max(len(exact.as_tuple().digits), scale) if exact else scale
    kind = decimal_type(digits, scale, f"the literal {text}")
    value = exact if exact else exact.copy_abs()
    return Literal(value, kind, f"{value:f}")


def _double(text: str) -> Literal:
    value = float(text) + 0.0
    if not math.isfinite(value):
        raise ExpressionError(f"{text} is too large for a double")
    return Literal(value, DOUBLE, repr(value) if "e" in repr(value) else f"{value!r}e0")


def _whole(value: int) -> Literal:
    if not LONG_MIN <= value <= LONG_MAX:
        hint = f"write it as a decimal: cast('{value}' as decimal(38,0))"
        raise ExpressionError(f"{value} is too large for bigint", hint)
    return Literal(value, LONG, str(value))


def _negative(scope: Scope, found: exp.Expr) -> Node:
    if isinstance(found.this, exp.Literal) and not found.this.is_string:
        return _number(f"-{found.this.name}")
    node = scope.node(found.this)
    return negative(node, f"(- {node.sql})")


def _arithmetic(operation: str, sign: str) -> Callable[[Scope, exp.Expr], Node]:
    def build(scope: Scope, found: exp.Expr) -> Node:
        left, right = scope.nodes([found.this, found.expression])
        return arithmetic(operation, sign, left, right, f"({left.sql} {sign} {right.sql})")

    return build


def _divide(scope: Scope, found: exp.Expr) -> Node:
    left, right = (number(node, "'/'") for node in scope.nodes([found.this, found.expression]))
    operands = [coerce(left, DOUBLE), coerce(right, DOUBLE)]
    return call("divide_double", operands, DOUBLE, f"({left.sql} / {right.sql})")


def _comparison(operation: str, sign: str) -> Callable[[Scope, exp.Expr], Node]:
    def build(scope: Scope, found: exp.Expr) -> Node:
        left, right = scope.nodes([found.this, found.expression])
        return _compared(operation, sign, left, right)

    return build


def _compared(operation: str, sign: str, left: Node, right: Node) -> Node:
    kind = _comparable([left, right], f"'{sign}'", ordered=operation not in ("eq", "ne"))
    return call(operation, [coerce(left, kind), coerce(right, kind)], BOOL, f"({left.sql} {sign} {right.sql})")


def _comparable(nodes: list[Node], what: str, *, ordered: bool) -> Type:
    if any(node.type == NULL for node in nodes):
        raise ExpressionError(f"{what} with null is never true", "write x is null")
    kind = common(nodes, what)
    if isinstance(kind, (Struct, Array, Map)) or (ordered and not is_ordered(kind)):
        raise ExpressionError(f"{what} can't compare values of type {kind}")
    return kind


def _logic(operation: str, sign: str) -> Callable[[Scope, exp.Expr], Node]:
    def build(scope: Scope, found: exp.Expr) -> Node:
        left, right = (condition(node, f"'{sign}'") for node in scope.nodes([found.this, found.expression]))
        return call(operation, [left, right], BOOL, f"({left.sql} {sign.upper()} {right.sql})")

    return build


def _not(scope: Scope, found: exp.Expr) -> Node:
    return negated(condition(scope.node(found.this), "'not'"))


def negated(node: Node) -> Node:
    return call("not", [node], BOOL, f"(NOT {node.sql})")


def _is(scope: Scope, found: exp.Expr) -> Node:
    if not isinstance(found.expression, exp.Null):
        raise ExpressionError("'is' is only used as 'is null' and 'is not null'", "write x = true, or just x")
    node = scope.node(found.this)
    return call("is_null", [coerce(node, BOOL) if node.type == NULL else node], BOOL, f"({node.sql} IS NULL)")


def _between(scope: Scope, found: exp.Expr) -> Node:
    nodes = scope.nodes([found.this, found.args["low"], found.args["high"]])
    kind = _comparable(nodes, "'between'", ordered=True)
    value, low, high = (node.sql for node in nodes)
    return call("between", [coerce(node, kind) for node in nodes], BOOL, f"({value} BETWEEN {low} AND {high})")


def _in(scope: Scope, found: exp.Expr) -> Node:
    value, listed = scope.node(found.this), scope.nodes(found.expressions)
    strange = [node for node in listed if not isinstance(node, Literal)]
    if strange or not listed:
        raise ExpressionError("'in' takes a list of literals", *(f"found '{bare(node.sql)}'" for node in strange[:1]))
    kind = _comparable([value, *listed], "'in'", ordered=False)
    arguments = [coerce(node, kind) for node in (value, *listed)]
    sql = f"({value.sql} IN ({', '.join(node.sql for node in listed)}))"
    return call("in_double" if kind == DOUBLE else "in", arguments, BOOL, sql)


def _like(scope: Scope, found: exp.Expr) -> Node:
    text, pattern = expect(scope.node(found.this), STRING, "'like'"), scope.node(found.expression)
    value = literal(pattern, STRING, "the pattern of 'like'").value
    node = call("like", [text, Literal(value, PATTERN, pattern.sql)], BOOL, f"({text.sql} LIKE {pattern.sql})")
    return negated(node) if found.args.get("negate") else node


def _case(scope: Scope, found: exp.Expr) -> Node:
    subject = scope.node(found.this) if found.this else None
    branches = found.args["ifs"]
    conditions = [_when(scope, subject, branch.this) for branch in branches]
    values = [scope.node(branch.args["true"]) for branch in branches]
    default = found.args.get("default")
    otherwise = scope.node(default) if default else Literal(None, NULL, "NULL")
    texts = [f"WHEN {bare(c.sql)} THEN {bare(v.sql)}" for c, v in zip(conditions, values, strict=True)]
    ending = [f"ELSE {bare(otherwise.sql)}"] if default else []
    return choice(conditions, values, otherwise, "case", " ".join(["CASE", *texts, *ending, "END"]))


def _when(scope: Scope, subject: Node | None, found: exp.Expr) -> Node:
    node = scope.node(found)
    return condition(node, "'when'") if subject is None else _compared("eq", "=", subject, node)


def _concat(scope: Scope, found: exp.Expr) -> Node:
    left, right = (expect(node, STRING, "'||'") for node in scope.nodes([found.this, found.expression]))
    return call("concat", [left, right], STRING, f"({left.sql} || {right.sql})")


def _cast(scope: Scope, found: exp.Expr) -> Node:
    node, to = scope.node(found.this), _type(found.args["to"])
    result = cast(node, to)
    if not (isinstance(node, Literal) and node.type == STRING and node.value is not None):
        return result
    value = compiled(result)({})
    if value is None:
        raise ExpressionError(f"{node.sql} is not a {to}", *_FORMS_OF_TEXT.get(to, ()))
    return Literal(value, to, f"{str(to).upper()} {node.sql}") if to in _FORMS_OF_TEXT else result


_FORMS_OF_TEXT: dict[Type, tuple[str, ...]] = {
    TIMESTAMP: ("expected a form such as 2026-01-31T12:00:00Z or 2026-01-31T12:00:00.123456+01:00",),
    DATE: ("expected a form such as 2026-01-31",),
}

_CAST_TYPES = {
    exp.DataType.Type.BOOLEAN: BOOL,
    exp.DataType.Type.INT: INT,
    exp.DataType.Type.BIGINT: LONG,
    exp.DataType.Type.DOUBLE: DOUBLE,
    exp.DataType.Type.TEXT: STRING,
    exp.DataType.Type.TIMESTAMP: TIMESTAMP,
    exp.DataType.Type.DATE: DATE,
}


def _type(found: exp.Expr) -> Type:
    parameters = [int(p.name) for p in found.expressions if p.name.isdigit()]
    if found.this == exp.DataType.Type.DECIMAL and len(parameters) == len(found.expressions) == 2:
        precision, scale = parameters
        if 1 <= precision <= 38 and scale <= precision:
            return types.Decimal(precision, scale)
    kind = _CAST_TYPES.get(found.this)
    if kind is None or found.expressions:
        names = ", ".join(str(one) for one in _CAST_TYPES.values())
        raise ExpressionError(f"can't cast to {found.sql().lower()}", f"types: {names}, decimal(1..38, 0..38)")
    return kind


def _refused_function(name: str) -> ExpressionError:
    return ExpressionError(f"{name} is not allowed", REFUSED[name])


def _function(scope: Scope, found: exp.Expr) -> Node:
    name = found.name.lower()
    if name in REFUSED:
        raise _refused_function(name)
    function = FUNCTIONS.get(name)
    if function is None:
        raise unknown("function", name, list(FUNCTIONS), "an expression")
    count = len(found.expressions)
    if not function.least <= count <= function.most:
        raise ExpressionError(f"wrong number of arguments: {function.shape} got {count}")
    nodes = scope.nodes(found.expressions)
    return function.build(nodes, f"{name}({', '.join(bare(node.sql) for node in nodes)})")


Form = tuple[Callable[[Scope, exp.Expr], Node], frozenset[str]]


def _form(build: Callable[[Scope, exp.Expr], Node], *allowed: str) -> Form:
    return build, frozenset(allowed)


def _binary(build: Callable[[Scope, exp.Expr], Node]) -> Form:
    return _form(build, "this", "expression")


FORMS: dict[type[exp.Expr], Form] = {
    exp.Column: _form(_column, "this", "table", "db", "catalog"),
    exp.Dot: _binary(_dot),
    exp.Bracket: _form(_bracket, "this", "expressions"),
    exp.Literal: _form(_literal, "this", "is_string"),
    exp.Boolean: _form(lambda _s, f: Literal(bool(f.this), BOOL, "TRUE" if f.this else "FALSE"), "this"),
    exp.Null: _form(lambda _s, _f: Literal(None, NULL, "NULL")),
    exp.Paren: _form(lambda scope, found: scope.node(found.this), "this"),
    exp.Neg: _form(_negative, "this"),
    exp.Add: _binary(_arithmetic("add", "+")),
    exp.Sub: _binary(_arithmetic("subtract", "-")),
    exp.Mul: _binary(_arithmetic("multiply", "*")),
    exp.Mod: _binary(_arithmetic("remainder", "%")),
    exp.Div: _binary(_divide),
    exp.EQ: _binary(_comparison("eq", "=")),
    exp.NEQ: _binary(_comparison("ne", "<>")),
    exp.LT: _binary(_comparison("lt", "<")),
    exp.LTE: _binary(_comparison("le", "<=")),
    exp.GT: _binary(_comparison("gt", ">")),
    exp.GTE: _binary(_comparison("ge", ">=")),
    exp.And: _binary(_logic("and", "and")),
    exp.Or: _binary(_logic("or", "or")),
    exp.Not: _form(_not, "this"),
    exp.Is: _binary(_is),
    exp.Between: _form(_between, "this", "low", "high"),
    exp.In: _form(_in, "this", "expressions"),
    exp.Like: _form(_like, "this", "expression", "negate"),
    exp.Case: _form(_case, "this", "ifs", "default"),
    exp.DPipe: _form(_concat, "this", "expression", "safe"),
    exp.Cast: _form(_cast, "this", "to"),
    exp.Anonymous: _form(_function, "this", "expressions"),
}
