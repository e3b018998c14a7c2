"""Two ranges of one view side by side, key by key."""

from __future__ import annotations

from collections.abc import Sequence

from tarnbeck.errors import UsageError
from tarnbeck.plan.view import View
from tarnbeck.schema.types import Type
from tarnbeck.serve.shape import Row, Shape

SUFFIX = "_against"
"""Behind the names of the columns of the other range."""

Columns = tuple[tuple[str, Type], ...]


def check(view: View, shape: Shape) -> None:
    """Refuses what has no meaning for two ranges, each of which is one window."""
    names = {output.name for output in view.outputs}
    twice = next((name for name in names if name + SUFFIX in names), None)
    if twice is not None:
        raise UsageError(f"view '{view.name}': against: it has a column '{twice + SUFFIX}' of its own\n  rename that")
    wrong = [name for name in ("every", "fill", "cumulative") if getattr(shape, name)]
    if wrong:
        raise UsageError(
            f"view '{view.name}': against: it compares two ranges, each as one window\n  leave out: {', '.join(wrong)}"
        )


def beside(
    columns: Columns, depth: int, near: Sequence[Row], far: Sequence[Row], nothing: Row
) -> tuple[Columns, list[Row]]:
    """The columns and rows of both ranges; a key that one of them lacks has there what no events give.

    Both ranges end together, so the longer one has all keys of the other, in the same order.
    """
    keys, outputs = columns[:depth], columns[depth:]
    first = {row[:depth]: row[depth:] for row in near}
    second = {row[:depth]: row[depth:] for row in far}
    longer = first if len(first) > len(second) else second
    found = [(*key, *first.get(key, nothing), *second.get(key, nothing)) for key in longer]
    return (*keys, *outputs, *((name + SUFFIX, type_) for name, type_ in outputs)), found
