"""A checked tree as a Python function of one row, put together from closures once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any

from tarnbeck.expression.table import OPERATIONS
from tarnbeck.expression.tree import Call, Literal, Member, Node, Reference

Row = Mapping[str, Any]
Compiled = Callable[[Row], Any]


def compiled(node: Node) -> Compiled:
    """The function that computes a node from a row of Python values."""
    match node:
        case Reference():
            return itemgetter(node.name)
        case Literal():
            value = node.value
            return lambda _row: value
        case Member():
            return _member(compiled(node.owner), node.name)
        case Call():
            operation = OPERATIONS[node.operation]
            function = operation.python(node.type)
            arguments = [compiled(argument) for argument in node.arguments]
            return _strict(function, arguments) if operation.strict else _lenient(function, arguments)


def _member(owner: Compiled, name: str) -> Compiled:
    def run(row: Row) -> Any:
        value = owner(row)
        return None if value is None else value.get(name)

    return run


def _lenient(function: Callable[..., Any], arguments: list[Compiled]) -> Compiled:
    return lambda row: function(*[argument(row) for argument in arguments])


def _strict(function: Callable[..., Any], arguments: list[Compiled]) -> Compiled:
    if len(arguments) == 1:
        return _strict_of_one(function, arguments[0])

    def run(row: Row) -> Any:
        values = [argument(row) for argument in arguments]
        return None if None in values else function(*values)

    return run


def _strict_of_one(function: Callable[..., Any], argument: Compiled) -> Compiled:
    def run(row: Row) -> Any:
        value = argument(row)
        return None if value is None else function(value)

    return run
