"""Aggregates that tell which values there were: the first and last, the greatest, the different, the frequent, some."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from tarnbeck.algebra.aggregate import PLAIN, Aggregate, Arguments, Finish, Value, needs, reader
from tarnbeck.algebra.kept import MOST, Edges, Ranked
from tarnbeck.algebra.kept import Distinct as DistinctState
from tarnbeck.algebra.sketch import Frequent as FrequentState
from tarnbeck.algebra.sketch import Hll
from tarnbeck.algebra.state import Edge, Extreme, Raw, State
from tarnbeck.schema import types
from tarnbeck.schema.types import Array, Column, Physical, Struct, Type


@dataclass(frozen=True)
class _End(Aggregate):
    """The value of one event by event time, or with `k` the values of so many, from the earliest to the latest."""

    k: int | None = None
    edge: ClassVar[bool]

    def result(self, arguments: Arguments) -> Type:
        one = needs(self, arguments)
        if self.k is None:
            return one
        self.bounded("k", self.k, 1, MOST)
        return Array(one)

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        physical = needs(self, arguments).physical
        return (Edge(physical, self.edge) if self.k is None else Edges(physical, self.edge, self.k),)

    def plain(self, arguments: Arguments) -> int | None:
        return -1 if self.k is None and arguments[0] in PLAIN else None

    def finish(self, arguments: Arguments) -> Finish:
        read = reader(needs(self, arguments))
        (state,) = self.states(arguments)
        if not isinstance(state, Edges):
            return lambda states: read(states[0][-1])
        return listed(state.values, read)


def listed(values: Callable[[bytes], list[Raw]], read: Callable[[Raw], Value]) -> Finish:
    return lambda states: None if states[0][0] is None else [read(value) for value in values(states[0][0])]  # type: ignore[arg-type]


@dataclass(frozen=True)
class First(_End):
    """The value of the earliest event that has one, by event time (ties by partition, offset, index); k: a list."""

    name: ClassVar[str] = "first"
    edge: ClassVar[bool] = True


@dataclass(frozen=True)
class Last(_End):
    """The value of the latest event that has one, by event time (ties by partition, offset, index); k: a list."""

    name: ClassVar[str] = "last"
    edge: ClassVar[bool] = False


@dataclass(frozen=True)
class Collect(Aggregate):
    """All values, in the order of their events; null when there are more than `most`."""

    most: int = 1_000
    name: ClassVar[str] = "collect"

    def result(self, arguments: Arguments) -> Type:
        self.bounded("most", self.most, 1, MOST)
        return Array(needs(self, arguments))

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        return (self._kept(arguments),)

    def _kept(self, arguments: Arguments) -> Edges:
        # One more than may be told, which tells that there are more.
        return Edges(needs(self, arguments).physical, True, self.most + 1)

    def finish(self, arguments: Arguments) -> Finish:
        values, read = self._kept(arguments).values, reader(needs(self, arguments))

        def collected(states: tuple[tuple[Raw, ...], ...]) -> list[Value] | None:
            found = [] if states[0][0] is None else values(states[0][0])  # type: ignore[arg-type]
            return None if len(found) > self.most else [read(value) for value in found]

        return collected


@dataclass(frozen=True)
class Distinct(Aggregate):
    """How many different values there are, exactly; null when there are more than `most`: then use `uniques`."""

    most: int = 10_000
    name: ClassVar[str] = "distinct"

    def result(self, arguments: Arguments) -> Type:
        needs(self, arguments)
        self.bounded("most", self.most, 1, MOST)
        return types.LONG

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        return (DistinctState(needs(self, arguments).physical, self.most),)

    def finish(self, arguments: Arguments) -> Finish:
        state = DistinctState(needs(self, arguments).physical, self.most)

        def counted(states: tuple[tuple[Raw, ...], ...]) -> int | None:
            packed = states[0][0]
            if packed is None:
                return 0
            values, more = state.values(packed)  # type: ignore[arg-type]
            return None if more else len(values)

        return counted


@dataclass(frozen=True)
class Values(Distinct):
    """The different values, in order; null when there are more than `most`."""

    name: ClassVar[str] = "values"

    def result(self, arguments: Arguments) -> Type:
        super().result(arguments)
        return Array(needs(self, arguments))

    def finish(self, arguments: Arguments) -> Finish:
        state, read = DistinctState(needs(self, arguments).physical, self.most), reader(needs(self, arguments))

        def listed(states: tuple[tuple[Raw, ...], ...]) -> list[Value] | None:
            packed = states[0][0]
            if packed is None:
                return []
            values, more = state.values(packed)  # type: ignore[arg-type]
            return None if more else [read(value) for value in values]

        return listed


@dataclass(frozen=True)
class _Truth(Aggregate):
    least: ClassVar[bool]

    def result(self, arguments: Arguments) -> Type:
        if needs(self, arguments) != types.BOOL:
            raise self.refuse(arguments, "a boolean")
        return types.BOOL

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        return (Extreme(Physical.INT, self.least),)

    def finish(self, arguments: Arguments) -> Finish:
        read = reader(types.BOOL)
        return lambda states: read(states[0][0])


@dataclass(frozen=True)
class Any(_Truth):
    """Whether a condition is true for some event."""

    name: ClassVar[str] = "any"
    least: ClassVar[bool] = False


@dataclass(frozen=True)
class All(_Truth):
    """Whether a condition is true for every event that has a value of it."""

    name: ClassVar[str] = "all"
    least: ClassVar[bool] = True


@dataclass(frozen=True)
class Uniques(Aggregate):
    """About how many different values there are, by HyperLogLog: right within 1.6 % (twice the standard error: 3.2 %).

    The error is about 1.04 / sqrt(2 ** precision); precision is 4 to 21.
    """

    precision: int = 12
    name: ClassVar[str] = "uniques"

    def result(self, arguments: Arguments) -> Type:
        needs(self, arguments)
        self.bounded("precision", self.precision, 4, 21)
        return types.LONG

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        return (Hll(needs(self, arguments).physical, self.precision),)

    def finish(self, arguments: Arguments) -> Finish:
        state = Hll(needs(self, arguments).physical, self.precision)
        return lambda states: 0 if states[0][0] is None else round(state.estimate(states[0][0])[0])  # type: ignore[arg-type]

    def bounds(self, arguments: Arguments) -> Finish:
        state = Hll(needs(self, arguments).physical, self.precision)

        def around(states: tuple[tuple[Raw, ...], ...]) -> tuple[int, int]:
            if states[0][0] is None:
                return 0, 0
            _, least, most = state.estimate(states[0][0])  # type: ignore[arg-type]
            return round(least), round(most)

        return around


@dataclass(frozen=True)
class _Ranking(Aggregate):
    k: int = 10
    greatest: ClassVar[bool]

    def result(self, arguments: Arguments) -> Type:
        self.bounded("k", self.k, 1, MOST)
        return Array(needs(self, arguments))

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        return (Ranked(needs(self, arguments).physical, self.greatest, self.k),)

    def finish(self, arguments: Arguments) -> Finish:
        state = Ranked(needs(self, arguments).physical, self.greatest, self.k)
        return listed(state.values, reader(needs(self, arguments)))


@dataclass(frozen=True)
class TopK(_Ranking):
    """The k greatest values, the greatest first, as often as they occurred."""

    name: ClassVar[str] = "top_k"
    greatest: ClassVar[bool] = True


@dataclass(frozen=True)
class BottomK(_Ranking):
    """The k least values, the least first, as often as they occurred."""

    name: ClassVar[str] = "bottom_k"
    greatest: ClassVar[bool] = False


@dataclass(frozen=True)
class Frequent(Aggregate):
    """About the k most frequent values with their counts, the most frequent first.

    A count is too high by at most 3.5 / 2 ** size of all values; size is 3 to 20.
    """

    k: int = 10
    size: int = 10
    name: ClassVar[str] = "frequent"

    def result(self, arguments: Arguments) -> Type:
        self.bounded("k", self.k, 1, 10_000)
        self.bounded("size", self.size, 3, 20)
        return Array(Struct((Column("value", needs(self, arguments)), Column("count", types.LONG))))

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        return (FrequentState(needs(self, arguments).physical, self.size),)

    def finish(self, arguments: Arguments) -> Finish:
        type_ = needs(self, arguments)
        state, read, back = FrequentState(type_.physical, self.size), reader(type_), _FROM_TEXT[type_.physical]

        def frequent(states: tuple[tuple[Raw, ...], ...]) -> list[dict[str, Value]] | None:
            packed = states[0][0]
            if packed is None:
                return None
            items = state.items(packed)[: self.k]  # type: ignore[arg-type]
            return [{"value": read(back(item[0])), "count": item[1]} for item in items]

        return frequent

    def bounds_type(self, arguments: Arguments) -> Type:
        return Array(types.LONG)

    def bounds(self, arguments: Arguments) -> Finish:
        state = FrequentState(needs(self, arguments).physical, self.size)

        def around(states: tuple[tuple[Raw, ...], ...]) -> tuple[list[int] | None, list[int] | None]:
            if states[0][0] is None:
                return None, None
            items = state.items(states[0][0])[: self.k]  # type: ignore[arg-type]
            return [item[2] for item in items], [item[3] for item in items]

        return around


_FROM_TEXT: dict[Physical, Callable[[str], Raw]] = {
    Physical.INT: int,
    Physical.WIDE: int,
    Physical.REAL: float,
    Physical.TEXT: str,
    Physical.BLOB: lambda text: text.encode("latin-1"),
}
