"""Sketches that are asked about one value: how often it occurred, whether it occurred at all."""

from __future__ import annotations

import hashlib
import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import datasketches as ds
import numpy as np
import pyarrow as pa

from tarnbeck.algebra.aggregate import Aggregate, Arguments, Finish, needs
from tarnbeck.algebra.packed import ARROW, Packed
from tarnbeck.algebra.sketch import hashable
from tarnbeck.algebra.state import Raw, State
from tarnbeck.errors import DeclarationError
from tarnbeck.schema import types
from tarnbeck.schema.types import ScalarType, Type

CONFIDENCE = 0.99
"""How sure it is that a count is within its error."""
LARGEST = 1 << 20
"""Bytes of the largest sketch, before it is compressed."""


def _share(aggregate: Aggregate, name: str, value: Any) -> None:
    if not isinstance(value, float) or not 0 < value < 1:
        raise DeclarationError(f"{aggregate}: bad {name} {value!r}\n  expected a number between 0 and 1")


@dataclass(frozen=True)
class CountMin(Packed):
    """Counters that each value adds to in several rows; compressed, because most of them are zero as a rule."""

    error: float

    def _empty(self) -> Any:
        hashes = ds.count_min_sketch.suggest_num_hashes(CONFIDENCE)
        return ds.count_min_sketch(hashes, ds.count_min_sketch.suggest_num_buckets(self.error))

    def pack(self, values: pa.Array) -> bytes:
        sketch, counted = self._empty(), values.value_counts()
        counts = counted.field(1).to_pylist()
        for value, count in zip(self.items(counted.field(0)), counts, strict=True):
            sketch.update(value, count)
        return zlib.compress(bytes(sketch.serialize()), 1)

    def unite(self, states: Sequence[bytes]) -> bytes:
        united = self._empty()
        for state in states:
            united.merge(self.read(state))
        return zlib.compress(bytes(united.serialize()), 1)

    def read(self, packed: bytes) -> Any:
        return ds.count_min_sketch.deserialize(zlib.decompress(packed))

    def items(self, values: pa.Array) -> list[Any]:
        """What the sketch takes: integers and text."""
        return [value if isinstance(value, int) else str(value) for value in hashable(values, self.argument)]


@dataclass(frozen=True)
class Bloom(Packed):
    """A row of bits, of which each value sets some; compressed, because most are zero as a rule."""

    expected: int
    error: float

    @property
    def bits(self) -> int:
        return math.ceil(-self.expected * math.log(self.error) / math.log(2) ** 2)

    def pack(self, values: pa.Array) -> bytes:
        row = np.zeros(self.bits, dtype=bool)
        for value in hashable(values, self.argument):
            row[list(self._places(value))] = True
        return zlib.compress(np.packbits(row).tobytes(), 1)

    def gather(self, arguments: Sequence[str]) -> str:
        (argument,) = arguments
        return f"list(DISTINCT {argument}) FILTER (WHERE {argument} IS NOT NULL)"

    def unite(self, states: Sequence[bytes]) -> bytes:
        rows = [np.frombuffer(zlib.decompress(state), np.uint8) for state in states]
        return zlib.compress(np.bitwise_or.reduce(rows).tobytes(), 1)

    def holds(self, packed: bytes, value: Any) -> bool | None:
        """Whether a value was among them; None where it may have been, but too many others were."""
        row = np.unpackbits(np.frombuffer(zlib.decompress(packed), np.uint8), count=self.bits)
        if not row[list(self._places(value))].all():
            return False
        return None if self._overfull(int(np.count_nonzero(row))) else True

    def _overfull(self, ones: int) -> bool:
        """Whether more bits are set than the expected values set, by more than chance makes of them."""
        usual = 1 - math.exp(-self._hashes * self.expected / self.bits)
        # The share of set bits has a standard deviation of less than 0.3 / sqrt(bits).
        return ones >= min(self.bits, self.bits * usual + math.sqrt(self.bits))

    @property
    def _hashes(self) -> int:
        return max(1, round(-math.log2(self.error)))

    def _places(self, value: Any) -> Iterator[int]:
        digest = hashlib.blake2b(repr(value).encode("utf-8", "surrogatepass"), digest_size=16).digest()
        first, second = int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little") | 1
        return ((first + number * second) % self.bits for number in range(self._hashes))


@dataclass(frozen=True)
class Frequency(Aggregate):
    """About how often a value occurred, for values that are named only when the view is asked; else all values.

    By a Count-Min sketch: never too low, and too high by at most `error` of all values in 99 of 100 cases.
    """

    error: float = 0.005
    name: ClassVar[str] = "frequency"

    def result(self, arguments: Arguments) -> Type:
        needs(self, arguments)
        _share(self, "error", self.error)
        if self.error < 0.0001:
            raise DeclarationError(f"{self}: bad error {self.error!r}\n  expected at least 0.0001")
        return types.LONG

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        return (self._kept(arguments),)

    def _kept(self, arguments: Arguments) -> CountMin:
        return CountMin(needs(self, arguments).physical, self.error)

    def finish(self, arguments: Arguments) -> Finish:
        state = self._kept(arguments)
        return lambda states: 0 if states[0][0] is None else round(state.read(states[0][0]).total_weight)  # type: ignore[arg-type]

    def question(self, arguments: Arguments) -> ScalarType:
        return needs(self, arguments)

    def asked(self, raw: Raw) -> Aggregate:
        return _OneFrequency(self.column, self.error, raw)


@dataclass(frozen=True)
class _OneFrequency(Frequency):
    of: Raw = None

    def finish(self, arguments: Arguments) -> Finish:
        bounds = self.bounds(arguments)
        return lambda states: bounds(states)[1]

    def bounds(self, arguments: Arguments) -> Finish:
        state = self._kept(arguments)
        (item,) = state.items(pa.array([self.of], ARROW[needs(self, arguments).physical]))

        def counts(states: tuple[tuple[Raw, ...], ...]) -> tuple[int, int]:
            if states[0][0] is None:
                return 0, 0
            sketch = state.read(states[0][0])  # type: ignore[arg-type]
            most = round(sketch.get_estimate(item))
            return max(0, most - math.ceil(self.error * sketch.total_weight)), most

        return counts


@dataclass(frozen=True)
class Seen(Aggregate):
    """Whether a value occurred, for values that are named only when the view is asked; null until then.

    By a Bloom filter: no is always right, yes is wrong for a share of `error` as long as there are no more than
    `expected` different values. When there are more, null stands for a yes that can't be relied on.
    """

    expected: int = 10_000
    error: float = 0.01
    name: ClassVar[str] = "seen"

    def result(self, arguments: Arguments) -> Type:
        needs(self, arguments)
        _share(self, "error", self.error)
        self.bounded("expected", self.expected, 1, 100_000_000)
        if self._kept(arguments).bits > 8 * LARGEST:
            raise DeclarationError(f"{self}: it would be larger than 1 MiB\n  expect fewer values, or allow more error")
        return types.BOOL

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        return (self._kept(arguments),)

    def _kept(self, arguments: Arguments) -> Bloom:
        return Bloom(needs(self, arguments).physical, self.expected, self.error)

    def finish(self, arguments: Arguments) -> Finish:
        return lambda states: None

    def question(self, arguments: Arguments) -> ScalarType:
        return needs(self, arguments)

    def asked(self, raw: Raw) -> Aggregate:
        return _OneSeen(self.column, self.expected, self.error, raw)


@dataclass(frozen=True)
class _OneSeen(Seen):
    of: Raw = None

    def finish(self, arguments: Arguments) -> Finish:
        state = self._kept(arguments)
        (item,) = hashable(pa.array([self.of], ARROW[needs(self, arguments).physical]), state.argument)
        return lambda states: False if states[0][0] is None else state.holds(states[0][0], item)  # type: ignore[arg-type]
