"""States kept as bytes that only Python reads: SQL gathers what belongs to a group, `pack` makes the bytes of it."""

from __future__ import annotations

import itertools
import json
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from tarnbeck.algebra.state import ORDER, Dialect, Event, Raw, State
from tarnbeck.schema.types import Physical

ARROW = {
    Physical.INT: pa.int64(),
    Physical.WIDE: pa.decimal128(38, 0),
    Physical.REAL: pa.float64(),
    Physical.TEXT: pa.string(),
    Physical.BLOB: pa.binary(),
}
"""How Arrow holds raw values."""


@dataclass(frozen=True)
class Packed(State):
    """A monoid whose one field is bytes; null is its neutral element.

    `gather` is the SQL call that brings a group's values together, in DuckDB, as a list; `pack` gets that list as an
    Arrow array without nulls. `unite` merges any number of packed states, at least one.
    """

    packed: ClassVar[bool] = True

    @property
    def fields(self) -> tuple[Physical, ...]:
        return (Physical.BLOB,)

    def gather(self, arguments: Sequence[str]) -> str:
        (argument,) = arguments
        return f"list({argument}) FILTER (WHERE {argument} IS NOT NULL)"

    def gathered(self, event: Event) -> Any:
        """What `gather` would bring together of one event, as a Python value."""
        return event.value

    @property
    def gathered_type(self) -> pa.DataType:
        assert self.argument is not None  # noqa: S101 (a declaration always binds an argument)
        return ARROW[self.argument]

    @abstractmethod
    def pack(self, values: pa.Array) -> bytes: ...

    @abstractmethod
    def unite(self, states: Sequence[bytes]) -> bytes: ...

    def prepare(self, event: Event) -> tuple[Raw, ...]:
        if event.value is None:
            return (None,)
        return (self.pack(pa.array([self.gathered(event)], self.gathered_type)),)

    def merge(self, a: tuple[Raw, ...], b: tuple[Raw, ...]) -> tuple[Raw, ...]:
        if a[0] is None or b[0] is None:
            return b if a[0] is None else a
        return (self.unite([a[0], b[0]]),)  # type: ignore[list-item]

    def aggregate(self, arguments: Sequence[str], dialect: Dialect) -> Sequence[str]:
        return (self.gather(arguments),)

    def regroup(self, fields: Sequence[str], dialect: Dialect) -> Sequence[str]:
        return (f"list({fields[0]}) FILTER (WHERE {fields[0]} IS NOT NULL)",)

    def unpack(self, results: Sequence[str], dialect: Dialect, *, regrouped: bool) -> Sequence[str]:
        return results

    def settle(self, lists: pa.ListArray, *, regrouped: bool) -> pa.Array:
        """The packed states of many groups, from what SQL gathered of each."""
        values, offsets = lists.values, lists.offsets.to_pylist()
        found: list[bytes | None] = []
        for number, (first, last) in enumerate(itertools.pairwise(offsets)):
            if first == last or not lists[number].is_valid:
                found.append(None)
            elif regrouped:
                found.append(self.unite(values.slice(first, last - first).to_pylist()))
            else:
                found.append(self.pack(values.slice(first, last - first)))
        return pa.array(found, pa.binary())


@dataclass(frozen=True)
class PackedRows(Packed):
    """A packed state of several arguments: an event counts when it has all of them."""

    others: tuple[Physical, ...]

    def gather(self, arguments: Sequence[str]) -> str:
        there = " AND ".join(f"{argument} IS NOT NULL" for argument in arguments)
        return f"list({struct(arguments)}) FILTER (WHERE {there})"

    def gathered(self, event: Event) -> Any:
        return {f"e{i}": value for i, value in enumerate(event.values)}

    @property
    def gathered_type(self) -> pa.DataType:
        assert self.argument is not None  # noqa: S101 (a declaration always binds an argument)
        return pa.struct([(f"e{i}", ARROW[form]) for i, form in enumerate((self.argument, *self.others))])

    def prepare(self, event: Event) -> tuple[Raw, ...]:
        return (None,) if None in event.values else super().prepare(event)


def plain(values: pa.Array) -> list[Any]:
    """An Arrow array of raw values as Python values."""
    found: list[Any] = values.to_pylist()
    return [value if value is None else int(value) for value in found] if pa.types.is_decimal(values.type) else found


def struct(columns: Sequence[str]) -> str:
    """SQL for a struct of these columns, named e0.. in their order."""
    return "struct_pack(" + ", ".join(f"e{i} := {column}" for i, column in enumerate(columns)) + ")"


def placed(argument: str) -> str:
    """SQL for a value behind the place in time of its event, which no two events share."""
    return struct([*ORDER, argument])


def placed_type(argument: Physical) -> pa.DataType:
    places = [(f"e{i}", pa.int64()) for i in range(len(ORDER))]
    return pa.struct([*places, (f"e{len(ORDER)}", ARROW[argument])])


def tuples(values: pa.StructArray) -> list[tuple[Any, ...]]:
    """An Arrow array of structs as Python tuples of raw values."""
    return list(zip(*(plain(column) for column in values.flatten()), strict=True))


def write(found: Any) -> bytes:
    """JSON in its shortest form; bytes are written as text of the same code points."""
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False, default=_latin).encode("utf-8", "surrogatepass")


def read(packed: bytes, physical: Physical | None = None) -> Any:
    """What `write` wrote; a list of values of this form gets its bytes back."""
    found = json.loads(packed.decode("utf-8", "surrogatepass"))
    return found if physical is not Physical.BLOB else [value.encode("latin-1") for value in found]


def _latin(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("latin-1")
    raise TypeError(f"not a raw value: {value!r}")
