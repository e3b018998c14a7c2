"""The checked tree of an expression: every node knows its type and its canonical SQL text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tarnbeck.schema.types import Physical, Scalar, Type

NULL = Scalar("null", Physical.INT)
"""The type of a bare `null` until its neighbours give it one; no finished tree holds it."""

PATTERN = Scalar("pattern", Physical.TEXT)
"""The type of the right side of LIKE: a literal that each engine escapes in its own way."""


class ExpressionError(Exception):
    """An expression can't be accepted; `check` adds the place and raises a DeclarationError from it."""

    def __init__(self, what: str, *details: str) -> None:
        super().__init__(what)
        self.what = what
        self.details = details


@dataclass(frozen=True)
class Reference:
    """A top-level column."""

    name: str
    type: Type
    sql: str


@dataclass(frozen=True)
class Literal:
    """A constant, already of the type that its place asks for; `sql` is how the user's text says it."""

    value: Any
    type: Type
    sql: str


@dataclass(frozen=True)
class Member:
    """A member of a struct."""

    owner: Node
    name: str
    type: Type
    sql: str


@dataclass(frozen=True)
class Call:
    """One operation of the table; its arguments have exactly the types that the operation is defined on."""

    operation: str
    arguments: tuple[Node, ...]
    type: Type
    sql: str


Node = Reference | Literal | Member | Call


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below this one."""
    match node:
        case Call():
            return node.arguments
        case Member():
            return (node.owner,)
        case _:
            return ()


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it."""
    yield node
    for child in children(node):
        yield from walk(child)


def bare(sql: str) -> str:
    """Canonical text without the outer parentheses, which every infix form and nothing else carries."""
    return sql[1:-1] if sql.startswith("(") else sql
