"""States and aggregates that count values one by one: how often each occurred, or how many fell between edges."""

from __future__ import annotations

import bisect
import collections
import decimal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from tarnbeck.algebra.aggregate import Aggregate, Arguments, Finish, Value, needs, numeric, reader
from tarnbeck.algebra.kept import MOST
from tarnbeck.algebra.packed import Packed, plain, read, write
from tarnbeck.algebra.state import Raw, State
from tarnbeck.errors import DeclarationError
from tarnbeck.schema import types
from tarnbeck.schema.types import Array, Decimal, Physical, ScalarType, Type


@dataclass(frozen=True)
class Counts(Packed):
    """How often each value occurred, up to `most` different ones; of more, the least are kept, with a mark.

    A value that is among the least of all is among the least of every part, so what is kept is counted in full.
    """

    most: int

    def pack(self, values: pa.Array) -> bytes:
        return self._write(collections.Counter(plain(values)), more=False)

    def unite(self, states: Sequence[bytes]) -> bytes:
        found, more = collections.Counter[Any](), False
        for state in states:
            counts, larger = self.counts(state)
            found.update(counts)
            more = more or larger
        return self._write(found, more=more)

    def _write(self, counts: collections.Counter[Any], *, more: bool) -> bytes:
        kept = sorted(counts)[: self.most]
        return write([int(more or len(kept) < len(counts)), kept, [counts[value] for value in kept]])

    def counts(self, packed: bytes) -> tuple[dict[Any, int], bool]:
        """The count of each value, in the values' order, and whether there are more values."""
        more, values, counts = read(packed)
        if self.argument is Physical.BLOB:
            values = [value.encode("latin-1") for value in values]
        return dict(zip(values, counts, strict=True)), bool(more)


@dataclass(frozen=True)
class Buckets(Packed):
    """How many values are below the first edge, from each edge up to the next, and from the last edge on."""

    edges: tuple[int | float, ...]

    def pack(self, values: pa.Array) -> bytes:
        if self.argument is Physical.WIDE:
            places: Any = [bisect.bisect_right(self.edges, value) for value in plain(values)]
        else:
            places = np.searchsorted(np.array(self.edges), values.to_numpy(zero_copy_only=False), side="right")
        return write(np.bincount(places, minlength=len(self.edges) + 1).tolist())

    def unite(self, states: Sequence[bytes]) -> bytes:
        return write([sum(counts) for counts in zip(*(read(state) for state in states), strict=True)])


@dataclass(frozen=True)
class Mode(Aggregate):
    """The value that occurred most often, of several the least; null when there are more than `most` different ones."""

    most: int = 10_000
    name: ClassVar[str] = "mode"

    def result(self, arguments: Arguments) -> Type:
        self.bounded("most", self.most, 1, MOST)
        return needs(self, arguments)

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        return (Counts(needs(self, arguments).physical, self.most),)

    def finish(self, arguments: Arguments) -> Finish:
        state, to_value = Counts(needs(self, arguments).physical, self.most), reader(needs(self, arguments))

        def mode(states: tuple[tuple[Raw, ...], ...]) -> Value:
            packed = states[0][0]
            if packed is None:
                return None
            counts, more = state.counts(packed)  # type: ignore[arg-type]
            # The values are in order, and max takes the first of those that occurred as often.
            return None if more else to_value(max(counts, key=lambda value: counts[value]))

        return mode


@dataclass(frozen=True)
class Histogram(Aggregate):
    """How many values are below the first edge, from each edge up to below the next, and from the last edge on."""

    edges: Sequence[float] = ()
    name: ClassVar[str] = "histogram"

    def __post_init__(self) -> None:
        if isinstance(self.edges, Sequence) and not isinstance(self.edges, str):
            object.__setattr__(self, "edges", tuple(self.edges))

    def result(self, arguments: Arguments) -> Type:
        numeric(self, arguments)
        edges = self.edges
        plain_numbers = isinstance(edges, tuple) and all(
            isinstance(edge, (int, float)) and not isinstance(edge, bool) and abs(edge) < float("inf") for edge in edges
        )
        if not plain_numbers or not 1 <= len(edges) <= 10_000 or list(edges) != sorted(set(edges)):
            raise DeclarationError(
                f"{self}: bad edges {edges!r}\n"
                "  expected numbers from the least to the greatest, each once, such as [0, 10, 100]"
            )
        return Array(types.LONG)

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        number = numeric(self, arguments)
        return (Buckets(number.physical, tuple(_raw(edge, number) for edge in self.edges)),)

    def finish(self, arguments: Arguments) -> Finish:
        nothing = [0] * (len(self.edges) + 1)
        return lambda states: nothing if states[0][0] is None else read(states[0][0])  # type: ignore[arg-type]


def _raw(edge: float, type_: ScalarType) -> int | float:
    """An edge as the raw values of the type are compared with it: the first raw value that is not below it."""
    if not isinstance(type_, Decimal):
        return edge
    scaled = decimal.Decimal(repr(edge)).scaleb(type_.scale)
    return int(scaled.to_integral_value(decimal.ROUND_CEILING))
