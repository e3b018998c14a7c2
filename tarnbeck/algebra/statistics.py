"""Aggregates of numbers that describe their distribution: spread, quantiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from tarnbeck.algebra.aggregate import Aggregate, Arguments, Finish, numeric, sum_state, unit
from tarnbeck.algebra.moments import Logarithms, Powers, Spread
from tarnbeck.algebra.sketch import Kll
from tarnbeck.algebra.state import Edge, Raw, State
from tarnbeck.errors import DeclarationError
from tarnbeck.schema import types
from tarnbeck.schema.types import Array, ScalarType, Type
from tarnbeck.window.duration import SECOND


@dataclass(frozen=True)
class Variance(Aggregate):
    """The variance as a double: of a sample (divided by n - 1), or of a whole population (divided by n).

    Null when there are too few values, or when it is beyond what a double holds.
    """

    population: bool = False
    name: ClassVar[str] = "variance"

    def result(self, arguments: Arguments) -> ScalarType:
        numeric(self, arguments)
        if not isinstance(self.population, bool):
            raise DeclarationError(f"{self}: bad population {self.population!r}\n  expected True or False")
        return types.DOUBLE

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        return (Spread(numeric(self, arguments).physical),)

    def finish(self, arguments: Arguments) -> Finish:
        scale, less = unit(arguments[0]) ** 2, 0 if self.population else 1

        def variance(states: tuple[tuple[Raw, ...], ...]) -> float | None:
            count, _, squares = states[0]
            if count is None or count <= less or not math.isfinite(squares):  # type: ignore[operator, arg-type]
                return None
            return squares / (count - less) / scale  # type: ignore[operator]

        return variance


@dataclass(frozen=True)
class Stddev(Variance):
    """The standard deviation: the square root of the variance."""

    name: ClassVar[str] = "stddev"

    def finish(self, arguments: Arguments) -> Finish:
        variance = super().finish(arguments)

        def deviation(states: tuple[tuple[Raw, ...], ...]) -> float | None:
            found = variance(states)
            return None if found is None else math.sqrt(found)

        return deviation


@dataclass(frozen=True)
class Skewness(Aggregate):
    """How far the values lean to one side: 0 when they are symmetric, above it with a long tail of great values.

    Of a whole population; null when the values don't vary.
    """

    name: ClassVar[str] = "skewness"

    def result(self, arguments: Arguments) -> ScalarType:
        numeric(self, arguments)
        return types.DOUBLE

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        return (Powers(numeric(self, arguments).physical),)

    def finish(self, arguments: Arguments) -> Finish:
        state = Powers(numeric(self, arguments).physical)

        def shape(states: tuple[tuple[Raw, ...], ...]) -> float | None:
            if states[0][0] is None:
                return None
            n, _, *powers = state.read(states[0][0])  # type: ignore[arg-type]
            found = self.shape(*(power / n for power in powers)) if powers[0] > 0 else math.nan
            return found if math.isfinite(found) else None

        return shape

    def shape(self, second: float, third: float, fourth: float) -> float:
        """The finished value from the mean powers of the distances."""
        return third / second / math.sqrt(second)


@dataclass(frozen=True)
class Kurtosis(Skewness):
    """How heavy the tails of the values are, beyond those of a normal distribution, which has 0."""

    name: ClassVar[str] = "kurtosis"

    def shape(self, second: float, third: float, fourth: float) -> float:
        return fourth / second / second - 3


@dataclass(frozen=True)
class GeometricMean(Aggregate):
    """The mean of growth factors: the n-th root of the product, by way of logarithms, so that nothing overflows.

    0 when a value is 0, null when one is below.
    """

    name: ClassVar[str] = "geometric_mean"

    def result(self, arguments: Arguments) -> ScalarType:
        numeric(self, arguments)
        return types.DOUBLE

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        return (Logarithms(numeric(self, arguments).physical),)

    def finish(self, arguments: Arguments) -> Finish:
        state, scale = Logarithms(numeric(self, arguments).physical), math.log(unit(arguments[0]))

        def mean(states: tuple[tuple[Raw, ...], ...]) -> float | None:
            if states[0][0] is None:
                return None
            positive, zeros, negative, total, _ = state.read(states[0][0])  # type: ignore[arg-type]
            if negative:
                return None
            return 0.0 if zeros else math.exp(total / positive - scale)

        return mean


@dataclass(frozen=True)
class Rate(Aggregate):
    """Events per second from the first to the last of them, or how much of `column` came per second after the first.

    Null when all have the same time.
    """

    column: str | None = None
    name: ClassVar[str] = "rate"

    @property
    def columns(self) -> tuple[str, ...]:
        return ("1" if self.column is None else self.column,)

    def result(self, arguments: Arguments) -> ScalarType:
        numeric(self, arguments)
        return types.DOUBLE

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        number = numeric(self, arguments)
        return (sum_state(number), Edge(number.physical, first=True), Edge(number.physical, first=False))

    def finish(self, arguments: Arguments) -> Finish:
        scale = unit(arguments[0])

        def rate(states: tuple[tuple[Raw, ...], ...]) -> float | None:
            total, first, last = states[0][0], states[1], states[2]
            if total is None or first[0] == last[0]:
                return None
            return (total - first[-1]) * SECOND / ((last[0] - first[0]) * scale)  # type: ignore[operator]

        return rate


def _share(aggregate: Aggregate, share: Any) -> float:
    if not isinstance(share, (int, float)) or isinstance(share, bool) or not 0 <= share <= 1:
        raise DeclarationError(f"{aggregate}: bad share {share!r}\n  expected 0 to 1")
    return float(share)


@dataclass(frozen=True)
class Quantile(Aggregate):
    """The value below which this share of the values lies, by a KLL sketch: its rank is right within about 1.3 %.

    A larger `size` is more exact: twice the size, about half the error.
    """

    share: float = 0.5
    size: int = 200
    name: ClassVar[str] = "quantile"

    def result(self, arguments: Arguments) -> Type:
        numeric(self, arguments)
        _share(self, self.share)
        self.bounded("size", self.size, 8, 65_535)
        return types.DOUBLE

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        return (Kll(numeric(self, arguments).physical, self.size),)

    def finish(self, arguments: Arguments) -> Finish:
        quantiles = _quantiles((self.share,), self.states(arguments), unit(arguments[0]))
        return lambda states: None if (found := quantiles(states)) is None else found[0]

    def bounds(self, arguments: Arguments) -> Finish:
        around = _around((self.share,), self.states(arguments), unit(arguments[0]))
        return lambda states: tuple(None if side is None else side[0] for side in around(states))

    def question(self, arguments: Arguments) -> ScalarType:
        return types.DOUBLE

    def asked(self, raw: Raw) -> Aggregate:
        found = replace(self, share=raw)  # type: ignore[arg-type]
        _share(found, raw)
        return found


@dataclass(frozen=True)
class Quantiles(Aggregate):
    """Several quantiles of one sketch, as a list in the order of the shares."""

    shares: Sequence[float] = (0.25, 0.5, 0.75)
    size: int = 200
    name: ClassVar[str] = "quantiles"

    def __post_init__(self) -> None:
        if isinstance(self.shares, Sequence) and not isinstance(self.shares, str):
            object.__setattr__(self, "shares", tuple(self.shares))

    def result(self, arguments: Arguments) -> Type:
        numeric(self, arguments)
        if not isinstance(self.shares, tuple):
            raise DeclarationError(f"{self}: bad shares {self.shares!r}\n  expected a list, such as [0.5, 0.99]")
        if not 1 <= len(self.shares) <= 1000:
            raise DeclarationError(f"{self}: expected 1 to 1000 shares, found {len(self.shares)}")
        for share in self.shares:
            _share(self, share)
        self.bounded("size", self.size, 8, 65_535)
        return Array(types.DOUBLE)

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        return (Kll(numeric(self, arguments).physical, self.size),)

    def finish(self, arguments: Arguments) -> Finish:
        return _quantiles(self.shares, self.states(arguments), unit(arguments[0]))

    def bounds(self, arguments: Arguments) -> Finish:
        return _around(self.shares, self.states(arguments), unit(arguments[0]))


def _quantiles(shares: Sequence[float], kept: tuple[State, ...], scale: int) -> Finish:
    (sketch,) = kept
    assert isinstance(sketch, Kll)  # noqa: S101 (both callers keep one)

    def quantiles(states: tuple[tuple[Raw, ...], ...]) -> list[float] | None:
        packed = states[0][0]
        if packed is None:
            return None
        found = sketch.read(packed).get_quantiles(list(shares))  # type: ignore[arg-type]
        return [value / scale for value in found]

    return quantiles


def _around(shares: Sequence[float], kept: tuple[State, ...], scale: int) -> Finish:
    """The quantiles as far below and above as the error of the rank reaches."""
    (sketch,) = kept
    assert isinstance(sketch, Kll)  # noqa: S101 (both callers keep one)

    def around(states: tuple[tuple[Raw, ...], ...]) -> tuple[list[float] | None, list[float] | None]:
        if states[0][0] is None:
            return None, None
        found = sketch.read(states[0][0])  # type: ignore[arg-type]
        error = found.normalized_rank_error(False)
        low, high = ([min(1.0, max(0.0, share + way * error)) for share in shares] for way in (-1, 1))
        least, most = (found.get_quantiles(each) for each in (low, high))
        return [value / scale for value in least], [value / scale for value in most]

    return around
