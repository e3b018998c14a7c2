"""The few states that aggregates are made of: how each begins, merges, and is computed by a SQL engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from tarnbeck.schema.types import Physical

Raw = int | float | str | bytes | None
"""One raw value of a key or state, as Physical describes it; None is SQL's null and every state's neutral element."""

Dialect = Literal["spark", "duckdb"]

ORDER = ("t", "_partition", "_offset", "_index")
"""An event's place in time: its event time in microseconds, then its identity, so that no two events tie."""


RELATIVE = 1e-9
"""How far two sums of the same doubles may be apart, as a share of the sum of their magnitudes."""


@dataclass(frozen=True)
class Event:
    """What a state may know of one event: the raw values of its arguments and the event's place in ORDER."""

    values: tuple[Raw, ...]
    order: tuple[int, int, int, int]

    @property
    def value(self) -> Raw:
        return self.values[0]


@dataclass(frozen=True)
class State(ABC):
    """A monoid over arguments, mostly one of this physical form; `fields` are its raw columns.

    A SQL engine computes it in two steps, because hash aggregation is fast only on plain columns: `aggregate` gives
    the aggregate calls over the arguments, `unpack` the fields out of their results. `regroup` gives the calls that
    merge rows of fields, unpacked the same way.
    """

    argument: Physical | None
    equality: ClassVar[Literal["bits", "relative", "bound"]] = "bits"

    def equal(self, a: tuple[Raw, ...], b: tuple[Raw, ...]) -> bool:
        """Whether two results for the same events may both be right: to the bit, unless the state says otherwise."""
        return a == b

    @property
    @abstractmethod
    def fields(self) -> tuple[Physical, ...]: ...

    @property
    def neutral(self) -> tuple[Raw, ...]:
        """The state of no events at all: merged with another, it gives the other."""
        return (None,) * len(self.fields)

    @abstractmethod
    def prepare(self, event: Event) -> tuple[Raw, ...]:
        """The state of a single event."""

    @abstractmethod
    def merge(self, a: tuple[Raw, ...], b: tuple[Raw, ...]) -> tuple[Raw, ...]: ...

    @abstractmethod
    def aggregate(self, arguments: Sequence[str], dialect: Dialect) -> Sequence[str]: ...

    @abstractmethod
    def regroup(self, fields: Sequence[str], dialect: Dialect) -> Sequence[str]: ...

    @abstractmethod
    def unpack(self, results: Sequence[str], dialect: Dialect, *, regrouped: bool) -> Sequence[str]: ...


@dataclass(frozen=True)
class Count(State):
    """How many events have a value; without an argument, how many events there are."""

    @property
    def fields(self) -> tuple[Physical, ...]:
        return (Physical.INT,)

    @property
    def neutral(self) -> tuple[Raw, ...]:
        return (0,)

    def prepare(self, event: Event) -> tuple[Raw, ...]:
        return (1 if self.argument is None or event.value is not None else 0,)

    def merge(self, a: tuple[Raw, ...], b: tuple[Raw, ...]) -> tuple[Raw, ...]:
        return (a[0] + b[0],)  # type: ignore[operator]

    def aggregate(self, arguments: Sequence[str], dialect: Dialect) -> Sequence[str]:
        return (f"count({arguments[0] if arguments else '*'})",)

    def regroup(self, fields: Sequence[str], dialect: Dialect) -> Sequence[str]:
        return (f"sum({fields[0]})",)

    def unpack(self, results: Sequence[str], dialect: Dialect, *, regrouped: bool) -> Sequence[str]:
        return (f"CAST({results[0]} AS BIGINT)",)


def _add(a: Raw, b: Raw) -> Raw:
    if a is None:
        return b
    return a if b is None else a + b  # type: ignore[operator]


@dataclass(frozen=True)
class ExactSum(State):
    """The sum of integers or unscaled decimals, in 128 bits."""

    @property
    def fields(self) -> tuple[Physical, ...]:
        return (Physical.WIDE,)

    def prepare(self, event: Event) -> tuple[Raw, ...]:
        return (event.value,)

    def merge(self, a: tuple[Raw, ...], b: tuple[Raw, ...]) -> tuple[Raw, ...]:
        return (_add(a[0], b[0]),)

    def aggregate(self, arguments: Sequence[str], dialect: Dialect) -> Sequence[str]:
        (argument,) = arguments
        if dialect == "spark" and self.argument is Physical.INT:
            # Spark sums 64-bit integers in 64 bits and decimals slowly; two halves are exact and fast.
            return (f"sum(shiftright({argument}, 32))", f"sum({argument} & 4294967295)")
        return (f"sum({argument})",)

    def regroup(self, fields: Sequence[str], dialect: Dialect) -> Sequence[str]:
        return (f"sum({fields[0]})",)

    def unpack(self, results: Sequence[str], dialect: Dialect, *, regrouped: bool) -> Sequence[str]:
        if len(results) == 2:
            return (f"CAST(CAST({results[0]} AS DECIMAL(38,0)) * 4294967296 + {results[1]} AS DECIMAL(38,0))",)
        return (f"CAST({results[0]} AS DECIMAL(38,0))",)


@dataclass(frozen=True)
class RealSum(State):
    """The sum of doubles, with the sum of their magnitudes, which bounds how far two orders of adding can differ."""

    equality: ClassVar[Literal["bits", "relative", "bound"]] = "relative"

    def equal(self, a: tuple[Raw, ...], b: tuple[Raw, ...]) -> bool:
        if None in (*a, *b):
            return a == b
        bound = RELATIVE * max(a[1], b[1])  # type: ignore[type-var, operator]
        return bool(abs(a[0] - b[0]) <= bound and abs(a[1] - b[1]) <= bound)  # type: ignore[operator]

    @property
    def fields(self) -> tuple[Physical, ...]:
        return (Physical.REAL, Physical.REAL)

    def prepare(self, event: Event) -> tuple[Raw, ...]:
        value = event.value
        return (None, None) if value is None else (value, abs(value))  # type: ignore[arg-type]

    def merge(self, a: tuple[Raw, ...], b: tuple[Raw, ...]) -> tuple[Raw, ...]:
        return (_add(a[0], b[0]), _add(a[1], b[1]))

    def aggregate(self, arguments: Sequence[str], dialect: Dialect) -> Sequence[str]:
        return (f"sum({arguments[0]})", f"sum(abs({arguments[0]}))")

    def regroup(self, fields: Sequence[str], dialect: Dialect) -> Sequence[str]:
        return tuple(f"sum({field})" for field in fields)

    def unpack(self, results: Sequence[str], dialect: Dialect, *, regrouped: bool) -> Sequence[str]:
        return results


@dataclass(frozen=True)
class Extreme(State):
    """The least or greatest value."""

    least: bool

    @property
    def fields(self) -> tuple[Physical, ...]:
        assert self.argument is not None  # noqa: S101 (a declaration always binds an argument)
        return (self.argument,)

    def prepare(self, event: Event) -> tuple[Raw, ...]:
        return (event.value,)

    def merge(self, a: tuple[Raw, ...], b: tuple[Raw, ...]) -> tuple[Raw, ...]:
        if a[0] is None or b[0] is None:
            return b if a[0] is None else a
        return a if (a[0] <= b[0]) == self.least else b  # type: ignore[operator]

    def aggregate(self, arguments: Sequence[str], dialect: Dialect) -> Sequence[str]:
        return (f"{'min' if self.least else 'max'}({arguments[0]})",)

    def regroup(self, fields: Sequence[str], dialect: Dialect) -> Sequence[str]:
        return self.aggregate(fields, dialect)

    def unpack(self, results: Sequence[str], dialect: Dialect, *, regrouped: bool) -> Sequence[str]:
        return results


@dataclass(frozen=True)
class Edge(State):
    """The value of the first or last event that has one, with that event's place in time."""

    first: bool

    @property
    def fields(self) -> tuple[Physical, ...]:
        assert self.argument is not None  # noqa: S101 (a declaration always binds an argument)
        return (*(Physical.INT,) * len(ORDER), self.argument)

    def prepare(self, event: Event) -> tuple[Raw, ...]:
        return (None,) * 5 if event.value is None else (*event.order, event.value)

    def merge(self, a: tuple[Raw, ...], b: tuple[Raw, ...]) -> tuple[Raw, ...]:
        if a[0] is None or b[0] is None:
            return b if a[0] is None else a
        return a if (a[:4] <= b[:4]) == self.first else b

    def aggregate(self, arguments: Sequence[str], dialect: Dialect) -> Sequence[str]:
        return (_outermost([*ORDER, *arguments], arguments, dialect, least=self.first),)

    def regroup(self, fields: Sequence[str], dialect: Dialect) -> Sequence[str]:
        return (_outermost(fields, fields[:1], dialect, least=self.first),)

    def unpack(self, results: Sequence[str], dialect: Dialect, *, regrouped: bool) -> Sequence[str]:
        places = [f"CAST({results[0]}.e{i} AS BIGINT)" for i in range(len(ORDER))]
        return (*places, f"{results[0]}.e{len(ORDER)}")


def _outermost(columns: Sequence[str], needed: Sequence[str], dialect: Dialect, *, least: bool) -> str:
    """The first or last row of these columns in their order, of those that have the needed ones.

    A place in time among the columns is unique, so a value behind it never decides the comparison.
    """
    if dialect == "spark":
        struct = "named_struct(" + ", ".join(f"'e{i}', {column}" for i, column in enumerate(columns)) + ")"
    else:
        struct = "struct_pack(" + ", ".join(f"e{i} := {column}" for i, column in enumerate(columns)) + ")"
    there = " AND ".join(f"{column} IS NOT NULL" for column in needed)
    return f"{'min' if least else 'max'}({struct}) FILTER (WHERE {there})"


@dataclass(frozen=True)
class Ruled(State):
    """The value of the event that is least or greatest by another: of several, the earliest or the latest."""

    by: Physical
    least: bool

    @property
    def fields(self) -> tuple[Physical, ...]:
        assert self.argument is not None  # noqa: S101 (a declaration always binds an argument)
        return (self.by, *(Physical.INT,) * len(ORDER), self.argument)

    def prepare(self, event: Event) -> tuple[Raw, ...]:
        value, by = event.values
        return (None,) * 6 if value is None or by is None else (by, *event.order, value)

    def merge(self, a: tuple[Raw, ...], b: tuple[Raw, ...]) -> tuple[Raw, ...]:
        if a[0] is None or b[0] is None:
            return b if a[0] is None else a
        return a if (a[:5] <= b[:5]) == self.least else b

    def aggregate(self, arguments: Sequence[str], dialect: Dialect) -> Sequence[str]:
        value, by = arguments
        return (_outermost([by, *ORDER, value], arguments, dialect, least=self.least),)

    def regroup(self, fields: Sequence[str], dialect: Dialect) -> Sequence[str]:
        return (_outermost(fields, fields[:1], dialect, least=self.least),)

    def unpack(self, results: Sequence[str], dialect: Dialect, *, regrouped: bool) -> Sequence[str]:
        places = [f"CAST({results[0]}.e{i} AS BIGINT)" for i in range(1, len(ORDER) + 1)]
        return (f"{results[0]}.e0", *places, f"{results[0]}.e{len(ORDER) + 1}")
