"""SQL expressions: checked against a schema when declared, then the same function on Spark, DuckDB and in Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from tarnbeck.errors import DeclarationError
from tarnbeck.expression.coerce import of_finished_values
from tarnbeck.expression.render import DUCKDB, SPARK, render
from tarnbeck.expression.run import Compiled, compiled
from tarnbeck.expression.tree import ExpressionError, Node, Reference, bare, walk
from tarnbeck.schema.types import Type

__all__ = ["Expression", "check", "check_finished"]

_compiled = lru_cache(maxsize=1024)(compiled)


@dataclass(frozen=True)
class Expression:
    """A checked expression: data only; each engine's form is made from the tree when asked for."""

    sql: str
    """Canonical text: two texts that differ in case of keywords, in spaces or in needless parentheses give the same."""
    type: Type
    columns: frozenset[str]
    """The top-level columns it reads."""
    tree: Node = field(repr=False)

    def spark(self) -> str:
        """Spark SQL; the session must be ANSI and in UTC."""
        return render(self.tree, SPARK)

    def duckdb(self) -> str:
        """DuckDB SQL; the connection's time zone must be UTC."""
        return render(self.tree, DUCKDB)

    def python(self) -> Compiled:
        """A function of one row; maps and structs are dicts, times are aware and in UTC."""
        return _compiled(self.tree)


def check(text: str, columns: Mapping[str, Type], *, place: str, owner: str) -> Expression:
    """The expression that a text means over these columns, or a DeclarationError that says what is wrong.

    >>> from tarnbeck.schema.types import DOUBLE, LONG
    >>> e = check("PRICE*volume > 5", {"price": DOUBLE, "volume": LONG}, place="view 'v'", owner="stream 's'")
    >>> e.sql, str(e.type), e.python()({"price": 2.0, "volume": 3})
    ('(price * volume) > 5', 'boolean', True)
    """
    return _expression(text, columns, place, owner)


def check_finished(text: str, columns: Mapping[str, Type], *, place: str, owner: str) -> Expression:
    """As `check`, over finished values of an answer: Python alone computes it, so that 38 digits may overflow to null.

    >>> import decimal
    >>> from tarnbeck.schema.types import Decimal
    >>> e = check_finished("2 * a", {"a": Decimal(38, 2)}, place="view 'v'", owner="the answer")
    >>> str(e.type), e.python()({"a": decimal.Decimal("1.50")}), e.python()({"a": decimal.Decimal(9 * 10**35)})
    ('decimal(38,2)', Decimal('3.00'), None)
    """
    with of_finished_values():
        return _expression(text, columns, place, owner)


def _expression(text: str, columns: Mapping[str, Type], place: str, owner: str) -> Expression:
    # sqlglot takes a third of a second to import, and only declarations need it.
    from tarnbeck.expression.forms import checked

    try:
        node = checked(text, columns, owner)
        found = Expression(bare(node.sql), node.type, _columns(node), node)
        # Rendered once now, so that what is too large for an engine is refused here and not when it runs.
        found.spark()
        found.duckdb()
    except ExpressionError as refused:
        raise DeclarationError(_message(place, text, refused)) from None
    return found


def _columns(node: Node) -> frozenset[str]:
    return frozenset(part.name for part in walk(node) if isinstance(part, Reference))


def _message(place: str, text: str, refused: ExpressionError) -> str:
    shown = " ".join(text.split())
    shown = shown if len(shown) <= 80 else shown[:77] + "..."
    return "\n  ".join([f'{place}: {refused.what} in "{shown}"', *refused.details])
