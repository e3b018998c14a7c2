"""What users select: aggregates, each one small class and one registry row."""

from __future__ import annotations

import datetime
import decimal
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self

from tarnbeck.algebra.state import Count as CountState
from tarnbeck.algebra.state import ExactSum, Extreme, Raw, RealSum, State
from tarnbeck.errors import DeclarationError
from tarnbeck.schema import types
from tarnbeck.schema.types import Decimal, Physical, ScalarType, Type

UNIX = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_EXACT = decimal.Context(prec=60)

Arguments = tuple[ScalarType, ...]
"""The types of what an aggregate is computed of; none for one that is of events as such."""

Value = Any
"""A finished value: bool, int, float, Decimal, str, datetime, date, bytes or None."""

Finish = Callable[[tuple[tuple[Raw, ...], ...]], Value]
"""From the merged fields of each state to the finished value."""

PLAIN = (types.INT, types.LONG, types.DOUBLE, types.STRING, types.BINARY)
"""Types whose raw values are what users see."""

LOGICAL: Mapping[Type, Callable[[Any], Value]] = {
    types.BOOL: bool,
    types.INT: int,
    types.LONG: int,
    types.DOUBLE: float,
    types.STRING: str,
    types.BINARY: bytes,
    types.TIMESTAMP: lambda raw: UNIX + datetime.timedelta(microseconds=raw),
    types.DATE: lambda raw: UNIX.date() + datetime.timedelta(days=raw),
}


def reader(type_: ScalarType) -> Callable[[Raw], Value]:
    """A function that turns a raw value of this type into the value users see.

    >>> reader(Decimal(18, 2))(12345)
    Decimal('123.45')
    """
    if isinstance(type_, Decimal):
        scale = -type_.scale
        return lambda raw: None if raw is None else decimal.Decimal(raw).scaleb(scale, _EXACT)  # type: ignore[arg-type]
    convert = LOGICAL[type_]
    return lambda raw: None if raw is None else convert(raw)


def raw(value: Value, type_: ScalarType) -> Any:
    """The raw form of a value of this type: what `reader` reads back."""
    if value is None:
        return None
    if isinstance(type_, Decimal):
        return int(decimal.Decimal(value).scaleb(type_.scale, _EXACT))
    if type_ == types.TIMESTAMP:
        return (value - UNIX) // datetime.timedelta(microseconds=1)
    if type_ == types.DATE:
        return (value - UNIX.date()).days
    return int(value) if type_.physical is Physical.INT else value


@dataclass(frozen=True)
class Aggregate(ABC):
    """One aggregate as the user wrote it: `column` is a SQL expression over the stream's columns.

    With `where`, a condition over them, it sees only the events for which that is true.
    """

    column: str | None
    where: str | None = field(default=None, kw_only=True)
    name: ClassVar[str]

    beside: ClassVar[tuple[str, ...]] = ()
    """Names of the fields that hold further columns."""

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(repr, self.columns))})"

    @property
    def columns(self) -> tuple[str, ...]:
        """The expressions that it is computed of."""
        if self.column is None:
            return ()
        return (self.column, *(column for name in self.beside if (column := getattr(self, name)) is not None))

    def options(self) -> dict[str, Any]:
        """What was asked for beside columns and condition, and is not as it is by default."""
        columns = ("column", "where", *self.beside)
        given = {f.name: (getattr(self, f.name), f.default) for f in fields(self) if f.name not in columns}
        return {name: value for name, (value, default) in given.items() if value != default}

    @classmethod
    def again(cls, columns: Sequence[str], options: Mapping[str, Any]) -> Self:
        """What has these columns and options: the way back from a definition."""
        return cls(*columns, **options)

    def over(self, columns: Mapping[str, Type]) -> Aggregate:
        """What is meant by it over a stream of these columns."""
        return self

    @abstractmethod
    def result(self, arguments: Arguments) -> Type:
        """The type of the finished value."""

    @abstractmethod
    def states(self, arguments: Arguments) -> tuple[State, ...]: ...

    @abstractmethod
    def finish(self, arguments: Arguments) -> Finish:
        """A function from the merged states to the finished value."""

    def plain(self, arguments: Arguments) -> int | None:
        """The field of the first state that is the finished value just as it is, if there is one."""
        return None

    def bounds(self, arguments: Arguments) -> Finish | None:
        """A function from the merged states to the least and the greatest value that may be right; None if exact."""
        return None

    def bounds_type(self, arguments: Arguments) -> Type:
        """The type of each of the two bounds."""
        return self.result(arguments)

    def question(self, arguments: Arguments) -> ScalarType | None:
        """The type of what it can be asked about when the view is read; None if there is nothing to ask."""
        return None

    def asked(self, raw: Raw) -> Aggregate:
        """The same states, finished to answer about this raw value of the type of `question`."""
        return self

    def refuse(self, arguments: Arguments, expected: str) -> DeclarationError:
        found = ", ".join(map(str, arguments)) or "none"
        return DeclarationError(f"{self}: expected {expected}, found {found}")

    def bounded(self, option: str, value: Any, least: int, most: int) -> None:
        """Refuses an option that is no whole number between these."""
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise DeclarationError(f"{self}: bad {option} {value!r}\n  expected {least} to {most:,}")


def needs(aggregate: Aggregate, arguments: Arguments) -> ScalarType:
    """The type of the first argument, which there must be."""
    if not arguments:
        raise aggregate.refuse(arguments, "a column")
    return arguments[0]


def numeric(aggregate: Aggregate, arguments: Arguments) -> ScalarType:
    """The type of the first argument, which must be a number's."""
    argument = needs(aggregate, arguments)
    if argument in (types.INT, types.LONG, types.DOUBLE) or isinstance(argument, Decimal):
        if isinstance(argument, Decimal) and argument.precision > 30:
            # 128 bits hold 38 digits: eight are kept free, so that a hundred million of the largest values still fit.
            raise aggregate.refuse(arguments, "a decimal of at most 30 digits (cast it)")
        return argument
    raise aggregate.refuse(arguments, "a number")


def unit(argument: ScalarType) -> int:
    """How many raw units make one."""
    return int(10**argument.scale) if isinstance(argument, Decimal) else 1


def sum_state(argument: ScalarType) -> State:
    if argument == types.DOUBLE:
        return RealSum(Physical.REAL)
    small = not isinstance(argument, Decimal) or argument.precision <= 18
    return ExactSum(Physical.INT if small else Physical.WIDE)


@dataclass(frozen=True)
class Count(Aggregate):
    """How many events there are, or how many have a value in `column`."""

    column: str | None = None
    name: ClassVar[str] = "count"

    def result(self, arguments: Arguments) -> ScalarType:
        return types.LONG

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        return (CountState(arguments[0].physical if arguments else None),)

    def plain(self, arguments: Arguments) -> int | None:
        return 0

    def finish(self, arguments: Arguments) -> Finish:
        return lambda states: states[0][0]


@dataclass(frozen=True)
class Sum(Aggregate):
    """The sum of the values; null when there are none. Integers and decimals are exact in 128 bits."""

    name: ClassVar[str] = "sum"

    def result(self, arguments: Arguments) -> ScalarType:
        number = numeric(self, arguments)
        if number == types.DOUBLE:
            return types.DOUBLE
        return Decimal(38, number.scale if isinstance(number, Decimal) else 0)

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        return (sum_state(numeric(self, arguments)),)

    def plain(self, arguments: Arguments) -> int | None:
        return None if isinstance(arguments[0], Decimal) else 0

    def finish(self, arguments: Arguments) -> Finish:
        if isinstance(arguments[0], Decimal):
            read = reader(self.result(arguments))
            return lambda states: read(states[0][0])
        return lambda states: states[0][0]


@dataclass(frozen=True)
class Mean(Aggregate):
    """The arithmetic mean as a double, kept as a sum and a count so that partials merge exactly."""

    name: ClassVar[str] = "mean"

    def result(self, arguments: Arguments) -> ScalarType:
        numeric(self, arguments)
        return types.DOUBLE

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        number = numeric(self, arguments)
        return (sum_state(number), CountState(number.physical))

    def finish(self, arguments: Arguments) -> Finish:
        scale = unit(arguments[0])

        def mean(states: tuple[tuple[Raw, ...], ...]) -> float | None:
            total, count = states[0][0], states[1][0]
            # Python divides integers of any size with one correct rounding.
            return total / (count * scale) if count else None  # type: ignore[operator]

        return mean


@dataclass(frozen=True)
class _OneValue(Aggregate):
    """An aggregate whose answer is one of the values it saw."""

    def result(self, arguments: Arguments) -> ScalarType:
        return needs(self, arguments)

    def plain(self, arguments: Arguments) -> int | None:
        return -1 if arguments[0] in PLAIN else None

    def finish(self, arguments: Arguments) -> Finish:
        read = reader(self.result(arguments))
        return lambda states: read(states[0][-1])


@dataclass(frozen=True)
class Min(_OneValue):
    """The least value; strings compare by code point."""

    name: ClassVar[str] = "min"

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        return (Extreme(self.result(arguments).physical, least=True),)


@dataclass(frozen=True)
class Max(_OneValue):
    """The greatest value; strings compare by code point."""

    name: ClassVar[str] = "max"

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        return (Extreme(self.result(arguments).physical, least=False),)
