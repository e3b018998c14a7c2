"""States that keep some of what they saw: the first and last few, the greatest, the distinct, a fair sample."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tarnbeck.algebra.packed import ARROW, Packed, PackedRows, placed, placed_type, plain, read, struct, tuples, write
from tarnbeck.algebra.state import ORDER, Event, Raw
from tarnbeck.schema.types import Physical

MOST = 100_000
"""Values that one state may keep."""


def _rows(packed: bytes, physical: Physical | None) -> list[list[Any]]:
    """Rows whose last value has this form."""
    found: list[list[Any]] = read(packed)
    if physical is Physical.BLOB:
        for row in found:
            row[-1] = row[-1].encode("latin-1")
    return found


@dataclass(frozen=True)
class Edges(Packed):
    """The first or last `most` events that have a value, each as its place in time and its value."""

    first: bool
    most: int

    def gather(self, arguments: Sequence[str]) -> str:
        (argument,) = arguments
        call = "min" if self.first else "max"
        return f"{call}({placed(argument)}, {self.most}) FILTER (WHERE {argument} IS NOT NULL)"

    def gathered(self, event: Event) -> Any:
        return dict(zip(("e0", "e1", "e2", "e3", "e4"), (*event.order, event.value), strict=True))

    @property
    def gathered_type(self) -> pa.DataType:
        assert self.argument is not None  # noqa: S101 (a declaration always binds an argument)
        return placed_type(self.argument)

    def pack(self, values: pa.Array) -> bytes:
        return self._write(tuples(values))

    def unite(self, states: Sequence[bytes]) -> bytes:
        return self._write([row for state in states for row in _rows(state, self.argument)])

    def _write(self, rows: Sequence[Sequence[Any]]) -> bytes:
        # Places differ, so that values, which may be of any kind, are never compared.
        choose = heapq.nsmallest if self.first else heapq.nlargest
        return write(sorted(choose(self.most, rows, key=lambda row: tuple(row[: len(ORDER)])), key=_place))

    def values(self, packed: bytes) -> list[Any]:
        """The values, from the earliest to the latest."""
        return [row[-1] for row in _rows(packed, self.argument)]


def _place(row: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(row[: len(ORDER)])


@dataclass(frozen=True)
class Ranked(Packed):
    """The `most` greatest or least values, as often as they occurred."""

    greatest: bool
    most: int

    def gather(self, arguments: Sequence[str]) -> str:
        (argument,) = arguments
        call = "max" if self.greatest else "min"
        return f"{call}({argument}, {self.most}) FILTER (WHERE {argument} IS NOT NULL)"

    def pack(self, values: pa.Array) -> bytes:
        return self._write(plain(values))

    def unite(self, states: Sequence[bytes]) -> bytes:
        return self._write([value for state in states for value in read(state, self.argument)])

    def _write(self, values: list[Any]) -> bytes:
        return write(heapq.nlargest(self.most, values) if self.greatest else heapq.nsmallest(self.most, values))

    def values(self, packed: bytes) -> list[Any]:
        found: list[Any] = read(packed, self.argument)
        return found


@dataclass(frozen=True)
class Distinct(Packed):
    """The set of values, exact up to `most` of them; of a larger set the least are kept, with a mark that it is larger.

    That a set is larger than `most` does not depend on the order in which its parts are united.
    """

    most: int

    def gather(self, arguments: Sequence[str]) -> str:
        (argument,) = arguments
        return f"list(DISTINCT {argument}) FILTER (WHERE {argument} IS NOT NULL)"

    def pack(self, values: pa.Array) -> bytes:
        return self._write(set(plain(values)), more=False)

    def unite(self, states: Sequence[bytes]) -> bytes:
        found, more = set[Any](), False
        for state in states:
            values, larger = self.values(state)
            found.update(values)
            more = more or larger
        return self._write(found, more=more)

    def _write(self, found: set[Any], *, more: bool) -> bytes:
        kept = sorted(found)[: self.most]
        return write([int(more or len(kept) < len(found)), *kept])

    def values(self, packed: bytes) -> tuple[list[Any], bool]:
        """The values in order, and whether there are more."""
        more, *found = read(packed)
        if self.argument is Physical.BLOB:
            found = [value.encode("latin-1") for value in found]
        return found, bool(more)


_HASHED = "md5_number_lower(" + " || ':' || ".join(f"CAST({name} AS VARCHAR)" for name in ORDER[1:]) + ")"


@dataclass(frozen=True)
class Sample(Packed):
    """`most` events chosen fairly: those whose identities have the lowest hashes, whatever the order they came in."""

    most: int

    def gather(self, arguments: Sequence[str]) -> str:
        (argument,) = arguments
        row = struct([_HASHED, *ORDER, argument])
        return f"min({row}, {self.most}) FILTER (WHERE {argument} IS NOT NULL)"

    def gathered(self, event: Event) -> Any:
        return {f"e{i}": value for i, value in enumerate((_hash(event.order[1:]), *event.order, event.value))}

    @property
    def gathered_type(self) -> pa.DataType:
        assert self.argument is not None  # noqa: S101 (a declaration always binds an argument)
        places = placed_type(self.argument)
        moved = [(f"e{i + 1}", field.type) for i, field in enumerate(places)]
        return pa.struct([("e0", pa.uint64()), *moved])

    def pack(self, values: pa.Array) -> bytes:
        return self._write(tuples(values))

    def unite(self, states: Sequence[bytes]) -> bytes:
        return self._write([row for state in states for row in _rows(state, self.argument)])

    def _write(self, rows: Sequence[Sequence[Any]]) -> bytes:
        return write(heapq.nsmallest(self.most, rows, key=lambda row: tuple(row[:5])))

    def values(self, packed: bytes) -> list[Any]:
        """The sampled values, from the earliest event to the latest."""
        rows = sorted(_rows(packed, self.argument), key=lambda row: tuple(row[1:5]))
        return [row[-1] for row in rows]


@dataclass(frozen=True)
class SampledRows(PackedRows):
    """As Sample, but whole rows of arguments, of which any but the first, which marks the event, may be null."""

    most: int

    def gather(self, arguments: Sequence[str]) -> str:
        row = struct([_HASHED, *ORDER, *arguments])
        return f"min({row}, {self.most}) FILTER (WHERE {arguments[0]} IS NOT NULL)"

    def gathered(self, event: Event) -> Any:
        return {f"e{i}": value for i, value in enumerate((_hash(event.order[1:]), *event.order, *event.values))}

    @property
    def gathered_type(self) -> pa.DataType:
        assert self.argument is not None  # noqa: S101 (a declaration always binds an argument)
        forms = [pa.uint64(), *(pa.int64(),) * len(ORDER), *(ARROW[form] for form in (self.argument, *self.others))]
        return pa.struct([(f"e{i}", form) for i, form in enumerate(forms)])

    def prepare(self, event: Event) -> tuple[Raw, ...]:
        return Packed.prepare(self, event)

    def pack(self, values: pa.Array) -> bytes:
        return self._write(tuples(values))

    def unite(self, states: Sequence[bytes]) -> bytes:
        return self._write([row for state in states for row in read(state)])

    def _write(self, rows: Sequence[Sequence[Any]]) -> bytes:
        return write(heapq.nsmallest(self.most, rows, key=lambda row: tuple(row[:5])))

    def rows(self, packed: bytes) -> list[list[Any]]:
        """The rows without the mark, from the earliest event to the latest."""
        found = sorted(read(packed), key=lambda row: tuple(row[1:5]))
        return [[_raw(value, form) for value, form in zip(row[6:], self.others, strict=True)] for row in found]


def _raw(value: Any, form: Physical) -> Any:
    return value.encode("latin-1") if form is Physical.BLOB and value is not None else value


def _hash(identity: Sequence[int]) -> int:
    """DuckDB's md5_number_lower of the same text."""
    digest = hashlib.md5(":".join(map(str, identity)).encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[8:], "little")
