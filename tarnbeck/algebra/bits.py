"""Whole numbers as rows of bits: which are set in all, in some, in an odd number of them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from tarnbeck.algebra.aggregate import Aggregate, Arguments, Finish, needs
from tarnbeck.algebra.state import Dialect, Event, Raw, State
from tarnbeck.schema import types
from tarnbeck.schema.types import Physical, ScalarType

COMBINE: dict[str, Callable[[int, int], int]] = {
    "bit_and": operator.and_,
    "bit_or": operator.or_,
    "bit_xor": operator.xor,
}
"""What merges two numbers, by the function that every SQL engine has for it."""


@dataclass(frozen=True)
class Bits(State):
    """The bits of all numbers put together by one of COMBINE."""

    function: str

    @property
    def fields(self) -> tuple[Physical, ...]:
        return (Physical.INT,)

    def prepare(self, event: Event) -> tuple[Raw, ...]:
        return (event.value,)

    def merge(self, a: tuple[Raw, ...], b: tuple[Raw, ...]) -> tuple[Raw, ...]:
        if a[0] is None or b[0] is None:
            return b if a[0] is None else a
        return (COMBINE[self.function](a[0], b[0]),)  # type: ignore[arg-type]

    def aggregate(self, arguments: Sequence[str], dialect: Dialect) -> Sequence[str]:
        return (f"{self.function}({arguments[0]})",)

    def regroup(self, fields: Sequence[str], dialect: Dialect) -> Sequence[str]:
        return self.aggregate(fields, dialect)

    def unpack(self, results: Sequence[str], dialect: Dialect, *, regrouped: bool) -> Sequence[str]:
        return results


@dataclass(frozen=True)
class _Bitwise(Aggregate):
    def result(self, arguments: Arguments) -> ScalarType:
        found = needs(self, arguments)
        if found not in (types.INT, types.LONG):
            raise self.refuse(arguments, "a whole number")
        return found

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        return (Bits(self.result(arguments).physical, self.name),)

    def plain(self, arguments: Arguments) -> int | None:
        return 0

    def finish(self, arguments: Arguments) -> Finish:
        return lambda states: states[0][0]


@dataclass(frozen=True)
class BitAnd(_Bitwise):
    """The bits that are set in every number."""

    name: ClassVar[str] = "bit_and"


@dataclass(frozen=True)
class BitOr(_Bitwise):
    """The bits that are set in some number."""

    name: ClassVar[str] = "bit_or"


@dataclass(frozen=True)
class BitXor(_Bitwise):
    """The bits that are set in an odd number of numbers."""

    name: ClassVar[str] = "bit_xor"
