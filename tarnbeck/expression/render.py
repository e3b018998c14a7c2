"""A checked tree as SQL text for one engine."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tarnbeck.expression.moment import micros
from tarnbeck.expression.operation import Operation, Template
from tarnbeck.expression.table import OPERATIONS
from tarnbeck.expression.tree import PATTERN, Call, ExpressionError, Literal, Member, Node, Reference
from tarnbeck.schema import types
from tarnbeck.schema.types import BOOL, DATE, DOUBLE, INT, LONG, STRING, TIMESTAMP, Array, Map, Scalar, Struct, Type

LONGEST_SQL = 100_000
"""Some forms name an argument twice; nested deeply enough, the text would grow without bounds."""


@dataclass(frozen=True)
class Engine:
    """What differs between the SQL of two engines, beyond the operations themselves."""

    template: Callable[[Operation], Template]
    identifier: Callable[[str], str]
    member: Callable[[str, Member], str]
    type: Callable[[Type], str]
    literals: dict[Type, Callable[[Any], str]]
    finite: str


def render(node: Node, engine: Engine) -> str:
    """The SQL text of a node."""
    return _render(node, engine, guarded=True)


def _render(node: Node, engine: Engine, *, guarded: bool) -> str:
    match node:
        case Reference():
            return engine.identifier(node.name)
        case Literal():
            return _literal(node, engine)
        case Member():
            return engine.member(_render(node.owner, engine, guarded=True), node)
        case Call():
            return _call(node, engine, guarded=guarded)


def _call(node: Call, engine: Engine, *, guarded: bool) -> str:
    operation = OPERATIONS[node.operation]
    arguments = [
        _render(argument, engine, guarded=place not in operation.carries)
        for place, argument in enumerate(node.arguments)
    ]
    text = _filled(engine.template(operation), node, arguments, engine)
    if operation.unsafe and guarded:
        text = engine.finite.format(text)
    if len(text) > LONGEST_SQL:
        raise ExpressionError("the expression is too large", "compute a part of it in a view of its own")
    return text


def _filled(template: Template, node: Call, arguments: list[str], engine: Engine) -> str:
    if callable(template):
        return template(node, arguments)
    every, rest = ", ".join(arguments), ", ".join(arguments[1:])
    return template.format(*arguments, all=every, rest=rest, type=engine.type(node.type))


def _literal(node: Literal, engine: Engine) -> str:
    if node.value is None:
        return f"CAST(NULL AS {engine.type(node.type)})"
    if isinstance(node.type, types.Decimal):
        return f"CAST('{node.value:f}' AS {engine.type(node.type)})"
    return engine.literals[node.type](node.value)


def _signed(text: str) -> str:
    return f"({text})" if text.startswith("-") else text


def _spark_string(value: str) -> str:
    # Spark replaces ${name} by settings even inside of string literals, so a dollar is never written as itself.
    return "'" + re.sub(r"[\\'$\x00-\x1f\x7f]", lambda found: f"\\u{ord(found[0]):04x}", value) + "'"


def _spark_type(kind: Type) -> str:
    match kind:
        case Array():
            return f"ARRAY<{_spark_type(kind.element)}>"
        case Map():
            return f"MAP<STRING, {_spark_type(kind.value)}>"
        case Struct():
            return "STRUCT<" + ", ".join(f"{_backquoted(c.name)}: {_spark_type(c.type)}" for c in kind.columns) + ">"
        case _:
            return str(kind).upper()


def _backquoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _spark_member(owner: str, member: Member) -> str:
    return f"{owner if owner.startswith('`') else f'({owner})'}.{_backquoted(member.name)}"


SPARK = Engine(
    template=lambda operation: operation.spark,
    identifier=_backquoted,
    member=_spark_member,
    type=_spark_type,
    literals={
        BOOL: lambda value: "TRUE" if value else "FALSE",
        INT: lambda value: _signed(str(value)),
        LONG: lambda value: _signed(f"{value}L"),
        DOUBLE: lambda value: _signed(f"{value!r}D"),
        STRING: _spark_string,
        PATTERN: lambda value: _spark_string(value.replace("\\", "\\\\")),
        TIMESTAMP: lambda value: f"timestamp_micros({micros(value)}L)",
        DATE: lambda value: f"DATE'{value.isoformat()}'",
    },
    finite="if(abs({0}) <= 1.7976931348623157E308D, {0} + 0.0D, CAST(NULL AS DOUBLE))",
)

_DUCKDB_NAMES = {STRING: "VARCHAR", INT: "INTEGER", TIMESTAMP: "TIMESTAMPTZ", types.BINARY: "BLOB"}


def _duckdb_type(kind: Type) -> str:
    match kind:
        case Array():
            return f"{_duckdb_type(kind.element)}[]"
        case Map():
            return f"MAP(VARCHAR, {_duckdb_type(kind.value)})"
        case Struct():
            return "STRUCT(" + ", ".join(f"{_quoted(c.name)} {_duckdb_type(c.type)}" for c in kind.columns) + ")"
        case Scalar():
            return _DUCKDB_NAMES.get(kind) or str(kind).upper()
        case _:
            return str(kind).upper()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _duckdb_string(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _duckdb_time(value: datetime) -> str:
    return f"TIMESTAMPTZ '{value.replace(tzinfo=None).isoformat(' ')}+00'"


def _duckdb_member(owner: str, member: Member) -> str:
    text = f"struct_extract({owner}, {_duckdb_string(member.name)})"
    # DuckDB forgets the member's type when the struct is a constant null, as an index out of range can be.
    return f"CAST({text} AS {_duckdb_type(member.type)})" if isinstance(member.owner, Call) else text


DUCKDB = Engine(
    template=lambda operation: operation.duckdb,
    identifier=_quoted,
    member=_duckdb_member,
    type=_duckdb_type,
    literals={
        BOOL: lambda value: "TRUE" if value else "FALSE",
        INT: lambda value: f"CAST({value} AS INTEGER)",
        LONG: lambda value: f"CAST({value} AS BIGINT)",
        DOUBLE: lambda value: f"CAST('{value!r}' AS DOUBLE)",
        STRING: _duckdb_string,
        PATTERN: _duckdb_string,
        TIMESTAMP: _duckdb_time,
        DATE: lambda value: f"DATE '{value.isoformat()}'",
    },
    finite="CASE WHEN abs({0}) <= CAST('1.7976931348623157e308' AS DOUBLE) THEN {0} + CAST(0 AS DOUBLE) END",
)
