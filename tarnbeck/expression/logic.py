"""Comparisons, three-valued logic and choices between values; text is compared by code point."""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Sequence
from typing import Any

from tarnbeck.expression.operation import Operation, both, plain
from tarnbeck.expression.tree import Call


def _and(a: bool | None, b: bool | None) -> bool | None:
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def _or(a: bool | None, b: bool | None) -> bool | None:
    if a is True or b is True:
        return True
    return None if a is None or b is None else False


def _between(value: Any, low: Any, high: Any) -> bool | None:
    above = None if value is None or low is None else value >= low
    below = None if value is None or high is None else value <= high
    return _and(above, below)


@functools.lru_cache(maxsize=1024)
def _like_pattern(pattern: str) -> re.Pattern[str]:
    signs = {"%": ".*", "_": "."}
    return re.compile("".join(signs.get(c) or re.escape(c) for c in pattern), re.DOTALL)


def _like(text: str, pattern: str) -> bool:
    return _like_pattern(pattern).fullmatch(text) is not None


def _case(*parts: Any) -> Any:
    """Condition, value, condition, value, .., and at the end the value when no condition holds."""
    for condition, value in zip(parts[::2], parts[1::2], strict=False):
        if condition:
            return value
    return parts[-1]


def _case_sql(_call: Call, parts: Sequence[str]) -> str:
    branches = zip(parts[:-1:2], parts[1::2], strict=True)
    return " ".join(["CASE", *(f"WHEN {c} THEN {v}" for c, v in branches), f"ELSE {parts[-1]} END"])


def _coalesce(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _nullif(a: Any, b: Any) -> Any:
    return None if a == b and a is not None else a


def _least(*values: Any) -> Any:
    return min((value for value in values if value is not None), default=None)


def _greatest(*values: Any) -> Any:
    return max((value for value in values if value is not None), default=None)


def _one_zero(value: float | None) -> float | None:
    return None if value is None else value + 0.0


OPERATIONS = {
    "eq": both(operator.eq, "({0} = {1})"),
    "ne": both(operator.ne, "({0} <> {1})"),
    "lt": both(operator.lt, "({0} < {1})"),
    "le": both(operator.le, "({0} <= {1})"),
    "gt": both(operator.gt, "({0} > {1})"),
    "ge": both(operator.ge, "({0} >= {1})"),
    "and": both(_and, "({0} AND {1})", strict=False),
    "or": both(_or, "({0} OR {1})", strict=False),
    "not": both(operator.not_, "(NOT {0})"),
    "is_null": both(lambda a: a is None, "({0} IS NULL)", strict=False),
    "between": both(_between, "({0} BETWEEN {1} AND {2})", strict=False),
    "in": both(lambda a, *listed: a in listed, "({0} IN ({rest}))"),
    # Spark looks doubles up in a hash set when the list is long, where -0.0 and 0.0 are two values.
    "in_double": Operation(
        plain(lambda a, *listed: a in listed),
        "(({0} + 0.0D) IN ({rest}))",
        "({0} IN ({rest}))",
    ),
    "like": both(_like, "({0} LIKE {1})"),
    "case": both(_case, _case_sql, strict=False),
    "coalesce": both(_coalesce, "coalesce({all})", strict=False),
    "nullif": both(_nullif, "nullif({0}, {1})", strict=False),
    "least": both(_least, "least({all})", strict=False),
    "greatest": both(_greatest, "greatest({all})", strict=False),
    # Which zero wins is up to the engine, so the sign is dropped.
    "least_double": Operation(
        plain(lambda *values: _one_zero(_least(*values))),
        "(least({all}) + 0.0D)",
        "(least({all}) + CAST(0 AS DOUBLE))",
        strict=False,
    ),
    "greatest_double": Operation(
        plain(lambda *values: _one_zero(_greatest(*values))),
        "(greatest({all}) + 0.0D)",
        "(greatest({all}) + CAST(0 AS DOUBLE))",
        strict=False,
    ),
}
