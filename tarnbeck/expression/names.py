"""Names in expressions: which column, member or function a text means, and the nearest one when it means none."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from sqlglot import exp

from tarnbeck.expression.tree import ExpressionError, Member, Node
from tarnbeck.schema.types import Struct

RESERVED = frozenset(
    re.findall(
        "[a-z_]+",
        """
    all alter and any as between by call case cast create cross describe distinct drop else end except
    execute exists explain false fetch for from glob grant group having if ilike in inner insert
    intersect interval into is join lateral like limit not notnull null on optimize or order outer
    partitioned_by prepare qualify regexp rename returning revoke rlike rollback select show some
    tablesample then true uncache union using vacuum values when where with xor
    """,
    )
)
"""Words that can't stand bare as a column's name: they are quoted in canonical text."""

_STRANGERS: dict[type[exp.Expr], str] = {
    exp.Star: "'*'",
    exp.Subquery: "a subquery",
    exp.Select: "a subquery",
    exp.Window: "a window function",
    exp.Interval: "an interval",
    exp.Tuple: "a list of values",
    exp.Slice: "a slice",
}


def name_of(found: exp.Expr) -> str:
    """What a user would call a part of their text that has no place in an expression."""
    return _STRANGERS.get(type(found)) or f"'{found.sql()}'"


def identifier(name: str) -> str:
    """A name in canonical text: quoted only where it must be."""
    if re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name) and name.lower() not in RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


def resolve(found: exp.Expr | None, known: Iterable[str], what: str, owner: str) -> str:
    """The known name that an identifier means: the same text, or unquoted and the only one but for case."""
    if not isinstance(found, exp.Identifier):
        raise ExpressionError(f"expected the name of a {what}, found {name_of(found) if found else 'nothing'}")
    names, name = list(known), found.name
    if name in names:
        return name
    alike = [one for one in names if one.lower() == name.lower()]
    if len(alike) == 1 and not found.quoted:
        return alike[0]
    raise unknown(what, name, names, owner)


def unknown(what: str, name: str, known: list[str], owner: str) -> ExpressionError:
    """The error for a name that does not exist, with what there is and the nearest one."""
    details = [f"{owner} has: {', '.join(known) or 'none'}"]
    near = difflib.get_close_matches(name.lower(), known, n=1)
    return ExpressionError(f"unknown {what} '{name}'", *details, *(f"did you mean '{one}'?" for one in near))


def member(owner: Node, found: exp.Expr | None) -> Node:
    """A struct's member by its name."""
    if not isinstance(owner.type, Struct):
        raise ExpressionError(f"'{owner.sql}' is {owner.type}, it has no members", "only a struct has, as in a.b")
    kinds = {column.name: column.type for column in owner.type.columns}
    name = resolve(found, kinds, "member", f"'{owner.sql}'")
    return Member(owner, name, kinds[name], f"{owner.sql}.{identifier(name)}")
