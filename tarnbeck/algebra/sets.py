"""Sets of values as sketches: how large they are, and how large their unions, intersections and differences."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import datasketches as ds
import pyarrow as pa

from tarnbeck.algebra.aggregate import Aggregate, Arguments, Finish, needs
from tarnbeck.algebra.sketch import Sketch, hashable
from tarnbeck.algebra.state import Raw, State
from tarnbeck.schema import types
from tarnbeck.schema.types import ScalarType, Type

DEVIATIONS = 2
"""Standard deviations between an estimate and its bounds: 19 of 20 lie within."""


@dataclass(frozen=True)
class Theta(Sketch):
    """The 2^size values of a set that have the lowest hashes, which stand for all of them."""

    size: int

    def gather(self, arguments: Sequence[str]) -> str:
        (argument,) = arguments
        return f"list(DISTINCT {argument}) FILTER (WHERE {argument} IS NOT NULL)"

    def pack(self, values: pa.Array) -> bytes:
        sketch = ds.update_theta_sketch(self.size)
        for value in hashable(values, self.argument):
            sketch.update(value)
        # Trimmed to the lowest 2^size exactly, so that the order in which values came does not show.
        sketch.trim()
        return bytes(sketch.compact(ordered=True).serialize())

    def unite(self, states: Sequence[bytes]) -> bytes:
        union = ds.theta_union(self.size)
        for state in states:
            union.update(read(state))
        return bytes(union.get_result(ordered=True).serialize())

    def alike(self, a: bytes, b: bytes) -> bool:
        return bool(abs(read(a).get_estimate() - read(b).get_estimate()) <= 1e-9 * read(a).get_estimate())


def read(packed: Raw) -> Any:
    """The sketch of a set; an empty one of nothing."""
    if packed is None:
        return ds.update_theta_sketch().compact()
    return ds.compact_theta_sketch.deserialize(packed)


def _bounds(sketch: Any) -> tuple[int, int]:
    return round(sketch.get_lower_bound(DEVIATIONS)), round(sketch.get_upper_bound(DEVIATIONS))


@dataclass(frozen=True)
class Members(Aggregate):
    """About how many different values there are, as a set that `union`, `intersection` and `difference` take.

    The standard error is 1 / sqrt(2 ** size): 1.6 % at 12; size is 5 to 20. `uniques` needs less room.
    """

    size: int = 12
    name: ClassVar[str] = "members"

    def result(self, arguments: Arguments) -> Type:
        needs(self, arguments)
        self.bounded("size", self.size, 5, 20)
        return types.LONG

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        return (Theta(needs(self, arguments).physical, self.size),)

    def finish(self, arguments: Arguments) -> Finish:
        return lambda states: round(read(states[0][0]).get_estimate())

    def bounds(self, arguments: Arguments) -> Finish:
        return lambda states: _bounds(read(states[0][0]))


@dataclass(frozen=True)
class Combination(Aggregate):
    """About how many values a set has that is made of two others, named as outputs of the same view before it.

    It keeps nothing of its own: it is computed from their states when the view is read.
    """

    column: str | None = field(default=None, init=False)
    left: str
    right: str

    def __str__(self) -> str:
        return f"{self.name}({self.left!r}, {self.right!r})"

    def result(self, arguments: Arguments) -> ScalarType:
        return types.LONG

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        return ()

    def finish(self, arguments: Arguments) -> Finish:
        return lambda states: round(self.combined(*(read(state[0]) for state in states)).get_estimate())

    def bounds(self, arguments: Arguments) -> Finish:
        return lambda states: _bounds(self.combined(*(read(state[0]) for state in states)))

    @abstractmethod
    def combined(self, left: Any, right: Any) -> Any: ...


@dataclass(frozen=True)
class Union(Combination):
    """About how many values are in one set or the other."""

    name: ClassVar[str] = "union"

    def combined(self, left: Any, right: Any) -> Any:
        union = ds.theta_union(20)
        union.update(left)
        union.update(right)
        return union.get_result()


@dataclass(frozen=True)
class Intersection(Combination):
    """About how many values are in both sets."""

    name: ClassVar[str] = "intersection"

    def combined(self, left: Any, right: Any) -> Any:
        intersection = ds.theta_intersection()
        intersection.update(left)
        intersection.update(right)
        return intersection.get_result()


@dataclass(frozen=True)
class Difference(Combination):
    """About how many values are in the first set and not in the second."""

    name: ClassVar[str] = "difference"

    def combined(self, left: Any, right: Any) -> Any:
        return ds.theta_a_not_b().compute(left, right)
