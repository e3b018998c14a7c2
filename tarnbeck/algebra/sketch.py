"""States that are sketches of Apache DataSketches: small, mergeable, with known bounds of error."""

from __future__ import annotations

import struct
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import datasketches as ds
import numpy as np
import pyarrow as pa

from tarnbeck.algebra.packed import Packed, plain
from tarnbeck.algebra.state import Raw
from tarnbeck.schema.types import Physical


@dataclass(frozen=True)
class Sketch(Packed):
    """A sketch; two of the same events need not be the same bytes, but tell the same within their bounds."""

    equality: ClassVar[Literal["bits", "relative", "bound"]] = "bound"

    def equal(self, a: tuple[Raw, ...], b: tuple[Raw, ...]) -> bool:
        if a[0] is None or b[0] is None:
            return a == b
        return self.alike(a[0], b[0])  # type: ignore[arg-type]

    @abstractmethod
    def alike(self, a: bytes, b: bytes) -> bool:
        """Whether both may be sketches of the same values."""


@dataclass(frozen=True)
class Hll(Sketch):
    """How many different values there are, by HyperLogLog with 2^precision registers."""

    precision: int

    def pack(self, values: pa.Array) -> bytes:
        sketch = ds.hll_sketch(self.precision, ds.tgt_hll_type.HLL_8)
        update = sketch.update
        # Arrow finds the different values of a group in half the time that DuckDB takes for list(DISTINCT ...).
        for value in hashable(values.unique(), self.argument):
            update(value)
        return bytes(sketch.serialize_compact())

    def unite(self, states: Sequence[bytes]) -> bytes:
        return bytes(self._union(states).get_result(ds.tgt_hll_type.HLL_8).serialize_compact())

    def _union(self, states: Sequence[bytes]) -> Any:
        union = ds.hll_union(self.precision)
        for state in states:
            union.update(ds.hll_sketch.deserialize(state))
        return union

    def estimate(self, packed: bytes) -> tuple[float, float, float]:
        """The estimate with its bounds at two standard deviations.

        A lone sketch estimates by the order in which values came, a united one by its registers alone: united with
        itself, every sketch does the latter.
        """
        union = self._union([packed, packed])
        return union.get_estimate(), union.get_lower_bound(2), union.get_upper_bound(2)

    def alike(self, a: bytes, b: bytes) -> bool:
        return abs(self.estimate(a)[0] - self.estimate(b)[0]) <= 1e-9 * self.estimate(a)[0]


EMPTY = "tarnbeck: the empty text"
"""What stands for a text without characters, which the sketch would leave out."""


def hashable(values: pa.Array, physical: Physical | None) -> list[Any]:
    """What a sketch hashes: integers of 64 bits and doubles as such, everything else as text."""
    found = plain(values)
    if physical is Physical.WIDE:
        return [str(value) for value in found]
    if physical is Physical.BLOB:
        return [value.decode("latin-1") or EMPTY for value in found]
    return [value or EMPTY for value in found] if physical is Physical.TEXT else found


@dataclass(frozen=True)
class Kll(Sketch):
    """The distribution of numbers, by KLL."""

    size: int

    def pack(self, values: pa.Array) -> bytes:
        sketch = ds.kll_doubles_sketch(self.size)
        # Not every engine rounds a wide decimal to the nearest double, so none is asked to. And the sketch takes no
        # array that can't be written to, as those of Arrow are.
        wide = self.argument is Physical.WIDE
        numbers = plain(values) if wide else values.to_numpy(zero_copy_only=False)
        sketch.update(np.array(numbers, dtype=np.float64))
        return bytes(sketch.serialize())

    def unite(self, states: Sequence[bytes]) -> bytes:
        united = ds.kll_doubles_sketch(self.size)
        for state in states:
            united.merge(ds.kll_doubles_sketch.deserialize(state))
        return bytes(united.serialize())

    def read(self, packed: bytes) -> Any:
        return ds.kll_doubles_sketch.deserialize(packed)

    def alike(self, a: bytes, b: bytes) -> bool:
        one, other = self.read(a), self.read(b)
        if (one.n, one.get_min_value(), one.get_max_value()) != (other.n, other.get_min_value(), other.get_max_value()):
            return False
        error = one.normalized_rank_error(False) + other.normalized_rank_error(False)
        shares = (0.05, 0.25, 0.5, 0.75, 0.95)
        for share in shares:
            value = one.get_quantile(share)
            low, high = other.get_rank(value, False), other.get_rank(value, True)
            if not low - 2 * error <= share <= high + 2 * error:
                return False
        return True


_HEAD = struct.Struct("<qq")


@dataclass(frozen=True)
class Frequent(Sketch):
    """The most frequent values, by Misra and Gries, with at most 3/4 of 2^size counters.

    Behind the number of all values and an error that the sketch no longer knows of stands the sketch itself: one whose
    counters have all been given up forgets, when it is written, what it had seen.
    """

    size: int

    def pack(self, values: pa.Array) -> bytes:
        counted = values.value_counts()
        sketch = ds.frequent_strings_sketch(self.size)
        texts = _texts(counted.field(0))
        for text, count in zip(texts, counted.field(1).to_pylist(), strict=True):
            sketch.update(text, count)
        return self._write(sketch, len(values), 0)

    def unite(self, states: Sequence[bytes]) -> bytes:
        united, total, lost = ds.frequent_strings_sketch(self.size), 0, 0
        for state in states:
            sketch, count, forgotten = self.read(state)
            united.merge(sketch)
            total, lost = total + count, lost + forgotten
        return self._write(united, total, lost)

    def _write(self, sketch: Any, total: int, lost: int) -> bytes:
        if sketch.is_empty():
            # The upper bound of a value that was never seen is the error alone.
            lost += sketch.get_upper_bound("")
        return _HEAD.pack(total, lost) + bytes(sketch.serialize())

    def read(self, packed: bytes) -> tuple[Any, int, int]:
        """The sketch, the number of all values, and the error that it does not know of."""
        total, lost = _HEAD.unpack_from(packed)
        return ds.frequent_strings_sketch.deserialize(packed[_HEAD.size :]), total, lost

    def items(self, packed: bytes) -> list[tuple[str, int, int, int]]:
        """Values as text with the estimate of their count and its bounds, the most frequent first."""
        sketch, _, lost = self.read(packed)
        found = sketch.get_frequent_items(ds.frequent_items_error_type.NO_FALSE_NEGATIVES, 0)
        shown = [(name, count + lost, low, high + lost) for name, count, low, high in found]
        return sorted(shown, key=lambda item: (-item[1], item[0]))

    def bounds(self, packed: bytes, name: str) -> tuple[int, int]:
        """How often a value occurred, at least and at most."""
        sketch, _, lost = self.read(packed)
        return sketch.get_lower_bound(name), sketch.get_upper_bound(name) + lost

    def alike(self, a: bytes, b: bytes) -> bool:
        if self.read(a)[1] != self.read(b)[1]:
            return False
        for name in {item[0] for packed in (a, b) for item in self.items(packed)}:
            (low, high), (least, most) = self.bounds(a, name), self.bounds(b, name)
            if low > most or least > high:
                return False
        return True


def _texts(values: pa.Array) -> list[str]:
    found = plain(values)
    return [value.decode("latin-1") if isinstance(value, bytes) else str(value) for value in found]
