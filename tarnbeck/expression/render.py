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
from tarnbeck.expression.tree import PATTERN, Call, Literal, Member, Node, Reference
from tarnbeck.schema import types
from tarnbeck.schema.types import BOOL, DATE, DOUBLE, INT, LONG, STRING, TIMESTAMP, Array, Map, Scalar, Struct, Type


@dataclass(frozen=True)
class Engine:
    """What differs between the SQL of two engines, beyond the operations themselves."""

    template: Callable[[Operation], Template]
    identifier: Callable[[str], str]
    member: Callable[[str, str], str]
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
            return engine.member(_render(node.owner, engine, guarded=True), node.name)
        case Call():
            return _call(node, engine, guarded=guarded)


def _call(node: Call, engine: Engine, *, guarded: bool) -> str:
    operation = OPERATIONS[node.operation]
    arguments = [
        _render(argument, engine, guarded=place not in operation.carries)
        for place, argument in enumerate(node.arguments)
    ]
    template = engine.template(operation)
    if callable(template):
        return template(arguments)
    text = template.format(
        *arguments, all=", ".join(arguments), rest=", ".join(arguments[1:]), type=engine.type(node.type)
    )
    return engine.finite.format(text) if operation.unsafe and guarded else text


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


SPARK = Engine(
    template=lambda operation: operation.spark,
    identifier=_backquoted,
    member=lambda owner, name: f"{owner if owner.startswith('`') else f'({owner})'}.{_backquoted(name)}",
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


DUCKDB = Engine(
    template=lambda operation: operation.duckdb,
    identifier=_quoted,
    member=lambda owner, name: f"struct_extract({owner}, {_duckdb_string(name)})",
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
