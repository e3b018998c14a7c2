"""Moments of numbers: sums of powers of their distances from the mean, merged without cancellation."""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from tarnbeck.algebra.packed import Packed, PackedRows, plain
from tarnbeck.algebra.state import RELATIVE, Dialect, Event, Raw, State
from tarnbeck.schema.types import Physical


@dataclass(frozen=True)
class Spread(State):
    """Count, mean and sum of squared distances from the mean, of numbers as doubles."""

    equality: ClassVar[Literal["bits", "relative", "bound"]] = "relative"

    @property
    def fields(self) -> tuple[Physical, ...]:
        return (Physical.INT, Physical.REAL, Physical.REAL)

    def equal(self, a: tuple[Raw, ...], b: tuple[Raw, ...]) -> bool:
        if None in (*a, *b) or a[0] != b[0]:
            return a == b
        (count, mean, squares), (_, other, others) = a, b
        scale = max(squares + count * mean * mean, others + count * other * other)  # type: ignore[operator]
        if not math.isfinite(scale):  # type: ignore[arg-type]
            # Beyond what a double holds, the order of adding decides between a huge number and infinity.
            return True
        far = RELATIVE * math.sqrt(scale / count)  # type: ignore[operator]
        return bool(abs(mean - other) <= far and abs(squares - others) <= RELATIVE * scale)  # type: ignore[operator]

    def prepare(self, event: Event) -> tuple[Raw, ...]:
        return (None,) * 3 if event.value is None else (1, float(event.value), 0.0)

    def merge(self, a: tuple[Raw, ...], b: tuple[Raw, ...]) -> tuple[Raw, ...]:
        if a[0] is None or b[0] is None:
            return b if a[0] is None else a
        (n, mean, squares), (m, other, others) = a, b
        apart, count = other - mean, n + m  # type: ignore[operator]
        return count, mean + apart * m / count, squares + others + apart * apart * n * m / count  # type: ignore[operator]

    def aggregate(self, arguments: Sequence[str], dialect: Dialect) -> Sequence[str]:
        (argument,) = arguments
        number = f"CAST({argument} AS DOUBLE)"
        return (f"count({argument})", f"avg({number})", f"var_pop({number})")

    def regroup(self, fields: Sequence[str], dialect: Dialect) -> Sequence[str]:
        n, mean, squares = fields
        gathered = {
            "spark": f"collect_list(named_struct('n', {n}, 'm', {mean}))",
            "duckdb": f"list(struct_pack(n := {n}, m := {mean}))",
        }
        return (
            f"sum({n})",
            f"sum({n} * {mean})",
            f"sum({squares})",
            f"{gathered[dialect]} FILTER (WHERE {n} IS NOT NULL)",
        )

    def unpack(self, results: Sequence[str], dialect: Dialect, *, regrouped: bool) -> Sequence[str]:
        if not regrouped:
            n, mean, variance = results
            count = f"CAST(nullif({n}, 0) AS BIGINT)"
            return (count, mean, f"{variance} * {n}")
        n, total, squares, parts = results
        mean = f"({total} / {n})"
        # Each part's mean against the common one: sums of squares alone would lose the digits that matter.
        between = {
            "spark": f"aggregate({parts}, CAST(0 AS DOUBLE), (a, p) -> a + p.n * power(p.m - {mean}, 2))",
            "duckdb": f"list_sum(list_transform({parts}, lambda p: p.n * power(p.m - {mean}, 2)))",
        }
        return (f"CAST({n} AS BIGINT)", mean, f"{squares} + {between[dialect]}")


def _doubles(values: pa.Array) -> Any:
    """Numbers as doubles; not every engine rounds a wide decimal to the nearest one, so Python does."""
    if pa.types.is_decimal(values.type):
        return np.array([float(value) for value in plain(values)])
    return values.to_numpy(zero_copy_only=False).astype(np.float64)


_POWERS = struct.Struct("<q4d")


@dataclass(frozen=True)
class Powers(Packed):
    """Count, mean, and the sums of the second, third and fourth powers of the distances from the mean."""

    equality: ClassVar[Literal["bits", "relative", "bound"]] = "relative"

    def pack(self, values: pa.Array) -> bytes:
        numbers = _doubles(values)
        with np.errstate(all="ignore"):
            mean = numbers.mean()
            apart = numbers - mean
            return _POWERS.pack(len(numbers), mean, *((apart**power).sum() for power in (2, 3, 4)))

    def unite(self, states: Sequence[bytes]) -> bytes:
        return _POWERS.pack(*functools.reduce(_together, (self.read(state) for state in states)))

    def read(self, packed: bytes) -> tuple[int, float, float, float, float]:
        return _POWERS.unpack(packed)

    def equal(self, a: tuple[Raw, ...], b: tuple[Raw, ...]) -> bool:
        if a[0] is None or b[0] is None:
            return a == b
        (n, mean, *sums), (m, other, *others) = self.read(a[0]), self.read(b[0])  # type: ignore[arg-type]
        size = max(abs(mean), abs(other)) + (max(sums[2], others[2]) / n) ** 0.25 if n == m else 0.0
        if n != m or not math.isfinite(n * size**4 if size < 1e75 else math.inf):
            return n == m
        far = [RELATIVE * n * size**power for power in (2, 3, 4)]
        near = all(abs(x - y) <= most for x, y, most in zip(sums, others, far, strict=True))
        return near and abs(mean - other) <= RELATIVE * size


Moments = tuple[int, float, float, float, float]


def _together(a: Moments, b: Moments) -> Moments:
    """Moments of two sets about the common mean, after Pebay."""
    (n, mean, a2, a3, a4), (m, other, b2, b3, b4) = a, b
    count, d = n + m, other - mean
    # Python's doubles become infinite without an error when they are multiplied, and raise when they are powers.
    dd = d * d
    m3 = a3 + b3 + dd * d * n * m * (n - m) / (count * count) + 3 * d * (n * b2 - m * a2) / count
    m4 = (
        a4
        + b4
        + dd * dd * n * m * (n * n - n * m + m * m) / (count * count * count)
        + 6 * dd * (n * n * b2 + m * m * a2) / (count * count)
        + 4 * d * (n * b3 - m * a3) / count
    )
    return count, mean + d * m / count, a2 + b2 + dd * n * m / count, m3, m4


class Sums(NamedTuple):
    """What is known of two numbers y and x of n events: means, and sums of products of distances from them."""

    n: int
    y: float
    x: float
    yy: float
    xx: float
    xy: float


_JOINT = struct.Struct("<q5d")


@dataclass(frozen=True)
class Joint(PackedRows):
    """Sums, of events that have both numbers."""

    equality: ClassVar[Literal["bits", "relative", "bound"]] = "relative"

    def pack(self, values: pa.Array) -> bytes:
        y, x = (_doubles(column) for column in values.flatten())
        with np.errstate(all="ignore"):
            dy, dx = y - y.mean(), x - x.mean()
            return _JOINT.pack(len(x), y.mean(), x.mean(), (dy * dy).sum(), (dx * dx).sum(), (dx * dy).sum())

    def unite(self, states: Sequence[bytes]) -> bytes:
        return _JOINT.pack(*functools.reduce(_jointly, (self.read(state) for state in states)))

    def read(self, packed: bytes) -> Sums:
        return Sums(*_JOINT.unpack(packed))

    def equal(self, a: tuple[Raw, ...], b: tuple[Raw, ...]) -> bool:
        if a[0] is None or b[0] is None:
            return a == b
        one, other = self.read(a[0]), self.read(b[0])  # type: ignore[arg-type]
        if one.n != other.n:
            return False
        y, x = math.sqrt(one.yy / one.n) + abs(one.y), math.sqrt(one.xx / one.n) + abs(one.x)
        far = [y, x, one.n * y * y, one.n * x * x, one.n * x * y]
        if not all(map(math.isfinite, (*far, *one, *other))):
            return True
        return all(abs(x - y) <= RELATIVE * most for x, y, most in zip(one[1:], other[1:], far, strict=True))


def _jointly(a: Sums, b: Sums) -> Sums:
    count = a.n + b.n
    # Python's doubles become infinite without an error when they are multiplied, and raise when they are powers.
    dy, dx, weight = b.y - a.y, b.x - a.x, a.n * b.n / count
    return Sums(
        count,
        a.y + dy * b.n / count,
        a.x + dx * b.n / count,
        a.yy + b.yy + dy * dy * weight,
        a.xx + b.xx + dx * dx * weight,
        a.xy + b.xy + dx * dy * weight,
    )


_LOGARITHMS = struct.Struct("<3q2d")


@dataclass(frozen=True)
class Logarithms(Packed):
    """How many numbers are above, at and below zero, and the sum of the logarithms of the former with its magnitude."""

    equality: ClassVar[Literal["bits", "relative", "bound"]] = "relative"

    def pack(self, values: pa.Array) -> bytes:
        numbers = _doubles(values)
        logs = np.log(numbers[numbers > 0])
        counts = len(logs), int((numbers == 0).sum()), int((numbers < 0).sum())
        return _LOGARITHMS.pack(*counts, logs.sum(), np.abs(logs).sum())

    def unite(self, states: Sequence[bytes]) -> bytes:
        return _LOGARITHMS.pack(*map(sum, zip(*map(self.read, states), strict=True)))

    def read(self, packed: bytes) -> tuple[int, int, int, float, float]:
        return _LOGARITHMS.unpack(packed)

    def equal(self, a: tuple[Raw, ...], b: tuple[Raw, ...]) -> bool:
        if a[0] is None or b[0] is None:
            return a == b
        one, other = self.read(a[0]), self.read(b[0])  # type: ignore[arg-type]
        far = RELATIVE * max(one[4], other[4])
        return one[:3] == other[:3] and all(abs(x - y) <= far for x, y in zip(one[3:], other[3:], strict=True))
