"""Which keys a question is about: one value of a key, or several."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

from tarnbeck.algebra.state import Raw
from tarnbeck.errors import UsageError, unknown
from tarnbeck.plan.view import View
from tarnbeck.serve import values

COMBINATIONS = 1_000
"""Keys that one question may name: each may be sought in each part of a view."""
_SEVERAL = (list, tuple, set, frozenset)

Wanted = Mapping[int, tuple[Raw, ...]]
"""The raw values that a key may have, by its place; any where there is none."""


def among(place: str, name: str, given: Any) -> tuple[Any, ...]:
    """The values that are given for a key: one, or several in a list.

    >>> among("view 'v'", "item", "tea"), among("view 'v'", "item", ["tea", None])
    (('tea',), ('tea', None))
    """
    if not isinstance(given, _SEVERAL):
        return (given,)
    if not given:
        raise UsageError(f"{place}: key '{name}': no value is given\n  leave it out to ask for all, or name some")
    return tuple(given)


def several(given: Mapping[str, Any]) -> bool:
    """Whether more than one value of a key is given."""
    return any(isinstance(value, _SEVERAL) and len(value) > 1 for value in given.values())


def read(view: View, given: Mapping[str, Any]) -> Wanted:
    """The asked keys in raw form, by their place."""
    place = f"view '{view.name}'"
    places = {key.name: i for i, key in enumerate(view.keys)}
    found = {}
    for name, value in given.items():
        if name not in places:
            raise UsageError(unknown(place, "key", name, places, "it"))
        at = places[name]
        type_, where = view.keys[at].type, f"{place}: key '{name}'"
        found[at] = tuple(dict.fromkeys(values.key(each, type_, where) for each in among(place, name, value)))
    count = math.prod(map(len, found.values()))
    if count > COMBINATIONS:
        raise UsageError(
            f"{place}: {count:,} combinations of keys\n  expected at most {COMBINATIONS:,}: ask for all and choose, "
            "or ask several times"
        )
    return found


def seeks(wanted: Wanted, depth: int) -> tuple[list[tuple[Raw, ...]], dict[int, Raw], dict[int, frozenset[Raw]]]:
    """How a store finds these keys: by all of the first keys; of the others it compares one value, we compare several.

    >>> seeks({0: ("tea", "rye"), 2: (1, 2)}, 3)[0], seeks({1: (5,)}, 2)[1]
    ([('tea',), ('rye',)], {1: 5})
    """
    leading = next((i for i in range(depth) if i not in wanted), depth)
    first = list(itertools.product(*(wanted[i] for i in range(leading))))
    others = [(i, raws) for i, raws in wanted.items() if i >= leading]
    one = {i: raws[0] for i, raws in others if len(raws) == 1}
    return first, one, {i: frozenset(raws) for i, raws in others if len(raws) > 1}


def of(rows: Iterator[Any], compared: Mapping[int, frozenset[Raw]]) -> Iterator[Any]:
    """The rows that have one of several values at each of these places."""
    return (row for row in rows if all(row[i] in raws for i, raws in compared.items())) if compared else rows
