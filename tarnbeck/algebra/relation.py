"""Aggregates of two columns: the value that goes with an extreme, weights, and how one number follows another."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from tarnbeck.algebra.aggregate import PLAIN, Aggregate, Arguments, Finish, numeric, reader, unit
from tarnbeck.algebra.moments import Joint, Sums
from tarnbeck.algebra.packed import PackedRows, read, tuples, write
from tarnbeck.algebra.state import RELATIVE, Raw, Ruled, State
from tarnbeck.errors import DeclarationError
from tarnbeck.schema import types
from tarnbeck.schema.types import Physical, ScalarType
from tarnbeck.window.duration import SECOND

EVENT_TIME = "_time"
"""What stands for the time of the event where a column is expected."""


@dataclass(frozen=True)
class _By(Aggregate):
    """The value of one column where another is least or greatest."""

    by: str
    beside: ClassVar[tuple[str, ...]] = ("by",)
    least: ClassVar[bool]

    def result(self, arguments: Arguments) -> ScalarType:
        return arguments[0]

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        value, by = arguments
        return (Ruled(value.physical, by.physical, self.least),)

    def plain(self, arguments: Arguments) -> int | None:
        return -1 if arguments[0] in PLAIN else None

    def finish(self, arguments: Arguments) -> Finish:
        to_value = reader(arguments[0])
        return lambda states: to_value(states[0][-1])


@dataclass(frozen=True)
class MinBy(_By):
    """The value of the event at which `by` is least, of several the earliest."""

    name: ClassVar[str] = "min_by"
    least: ClassVar[bool] = True


@dataclass(frozen=True)
class MaxBy(_By):
    """The value of the event at which `by` is greatest, of several the latest."""

    name: ClassVar[str] = "max_by"
    least: ClassVar[bool] = False


@dataclass(frozen=True)
class Weighted(PackedRows):
    """The sums of weighted values and of weights; of doubles also their magnitudes, which bound the rounding."""

    @property
    def exact(self) -> bool:
        return Physical.REAL not in (self.argument, *self.others)

    def equal(self, a: tuple[Raw, ...], b: tuple[Raw, ...]) -> bool:
        if a[0] is None or b[0] is None or self.exact:
            return a == b
        one, other = read(a[0]), read(b[0])  # type: ignore[arg-type]
        if not all(map(math.isfinite, (*one, *other))):
            # Beyond what a double holds, the order of adding decides between a huge number and infinity.
            return True
        far = [RELATIVE * max(x, y) for x, y in zip(one[2:], other[2:], strict=True)] * 2
        return all(abs(x - y) <= most for x, y, most in zip(one, other, far, strict=True))

    def pack(self, values: pa.Array) -> bytes:
        rows = tuples(values)
        products, weights = [value * weight for value, weight in rows], [weight for _, weight in rows]
        if self.exact:
            return write([sum(products), sum(weights)])
        sums = products, weights, [abs(product) for product in products], [abs(weight) for weight in weights]
        return write([sum(map(float, each)) for each in sums])

    def unite(self, states: Sequence[bytes]) -> bytes:
        return write([sum(parts) for parts in zip(*(read(state) for state in states), strict=True)])


@dataclass(frozen=True)
class WeightedMean(Aggregate):
    """The mean of the values, each counted as often as its weight says; null when the weights add up to nothing."""

    weight: str
    name: ClassVar[str] = "weighted_mean"
    beside: ClassVar[tuple[str, ...]] = ("weight",)

    def result(self, arguments: Arguments) -> ScalarType:
        for argument in arguments:
            numeric(self, (argument,))
        return types.DOUBLE

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        value, weight = arguments
        return (Weighted(value.physical, (weight.physical,)),)

    def finish(self, arguments: Arguments) -> Finish:
        scale = unit(arguments[0])

        def mean(states: tuple[tuple[Raw, ...], ...]) -> float | None:
            if states[0][0] is None:
                return None
            products, weights, *_ = read(states[0][0])  # type: ignore[arg-type]
            return products / (weights * scale) if weights and math.isfinite(products) else None

        return mean


@dataclass(frozen=True)
class _Related(Aggregate):
    """Two numbers of each event, `column` the one that depends on `by`."""

    by: str
    beside: ClassVar[tuple[str, ...]] = ("by",)

    def result(self, arguments: Arguments) -> ScalarType:
        numeric(self, arguments)
        if arguments[1] != types.TIMESTAMP:
            numeric(self, arguments[1:])
        return types.DOUBLE

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        value, by = arguments
        return (Joint(value.physical, (by.physical,)),)

    def finish(self, arguments: Arguments) -> Finish:
        (state,) = self.states(arguments)
        assert isinstance(state, Joint)  # noqa: S101 (made above)
        scales = [SECOND if type_ == types.TIMESTAMP else unit(type_) for type_ in arguments]

        def related(states: tuple[tuple[Raw, ...], ...]) -> float | None:
            if states[0][0] is None:
                return None
            found = self.related(state.read(states[0][0]), *scales)  # type: ignore[arg-type]
            return found if found is not None and math.isfinite(found) else None

        return related

    @abstractmethod
    def related(self, sums: Sums, y_unit: int, x_unit: int) -> float | None:
        """The finished value; the units tell how many raw units make one."""


@dataclass(frozen=True)
class Covariance(_Related):
    """How two numbers vary together: of a sample (divided by n - 1), or of a whole population (divided by n)."""

    population: bool = False
    name: ClassVar[str] = "covariance"

    def result(self, arguments: Arguments) -> ScalarType:
        if not isinstance(self.population, bool):
            raise DeclarationError(f"{self}: bad population {self.population!r}\n  expected True or False")
        return super().result(arguments)

    def related(self, sums: Sums, y_unit: int, x_unit: int) -> float | None:
        less = 0 if self.population else 1
        return sums.xy / (sums.n - less) / y_unit / x_unit if sums.n > less else None


@dataclass(frozen=True)
class Correlation(_Related):
    """Pearson's correlation of two numbers, from -1 to 1; null when one of them never varies."""

    name: ClassVar[str] = "correlation"

    def related(self, sums: Sums, y_unit: int, x_unit: int) -> float | None:
        if not sums.xx or not sums.yy:
            return None
        return max(-1.0, min(1.0, sums.xy / math.sqrt(sums.xx) / math.sqrt(sums.yy)))


@dataclass(frozen=True)
class Trend(_Related):
    """The slope of the straight line that fits best (least squares): how much the value grows with `by`.

    By default `by` is the time of the event, and the slope is per second. Null when `by` never varies.
    """

    by: str = EVENT_TIME
    name: ClassVar[str] = "trend"

    def related(self, sums: Sums, y_unit: int, x_unit: int) -> float | None:
        return sums.xy / sums.xx / y_unit * x_unit if sums.xx else None


@dataclass(frozen=True)
class Intercept(_Related):
    """Where the straight line of `trend` begins: its value at a `by` of zero."""

    name: ClassVar[str] = "intercept"

    def related(self, sums: Sums, y_unit: int, x_unit: int) -> float | None:
        return (sums.y - sums.xy / sums.xx * sums.x) / y_unit if sums.xx else None
