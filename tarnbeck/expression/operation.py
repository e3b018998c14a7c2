"""What one operation of the table is: the same total function for Python, Spark SQL and DuckDB SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tarnbeck.expression.tree import Call
from tarnbeck.schema.types import Type

Template = str | Callable[[Call, Sequence[str]], str]
"""SQL text with {0}, {1}.. for the arguments, {all} and {rest} for lists of them, {type} for the result's type."""


@dataclass(frozen=True)
class Operation:
    """One row of the table.

    A strict operation gives null when an argument is null, and its Python function never sees None. `unsafe` says that
    the SQL forms can give NaN or an infinity, which is then turned into null; `carries` names the arguments through
    which a NaN or infinity always stays one, so that a chain of such operations needs one guard at its end only.
    """

    python: Callable[[Type], Callable[..., Any]]
    spark: Template
    duckdb: Template
    strict: bool = True
    unsafe: bool = False
    carries: frozenset[int] = frozenset()


def plain(function: Callable[..., Any]) -> Callable[[Type], Callable[..., Any]]:
    """A Python function that does not depend on the result's type."""
    return lambda _type: function


def both(python: Callable[..., Any], sql: Template, *, strict: bool = True) -> Operation:
    """An operation that Spark and DuckDB write alike."""
    return Operation(plain(python), sql, sql, strict=strict)
