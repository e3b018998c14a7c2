"""Puts events together into packed records, each for the partition that the keys of its events name."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
from pyarrow import types as of

from tarnbeck.schema import cells, packs
from tarnbeck.schema.packs import Pack
from tarnbeck.schema.stream import Stream

Numbers = npt.NDArray[np.int64]

FULL = 1_000_000
"""Bytes of the largest pack: with all that Kafka adds it stays below the 1 MiB that brokers take unless told."""


@dataclass(frozen=True)
class Packed:
    """A pack on its way: `partition` is None for events without a key, `place` names the first of them."""

    pack: Pack
    partition: int | None
    events: int
    place: str


@dataclass
class _Open:
    place: str
    lines: list[bytes] = field(default_factory=list)
    size: int = 0


class Lines:
    """JSON texts on their way into packs, one open pack for each partition."""

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._open: dict[int | None, _Open] = {}

    def add(self, key: bytes | None, line: bytes, place: str) -> Iterator[Packed]:
        """Takes a text without line breaks; gives the pack that is full without it, if one is."""
        partition = self.partition(key)
        waiting = self._open.get(partition)
        if waiting is not None and waiting.size + len(line) > FULL:
            yield from self.close(partition)
            waiting = None
        if waiting is None:
            waiting = self._open[partition] = _Open(place)
        waiting.lines.append(line)
        waiting.size += len(line) + 1

    def partition(self, key: bytes | None) -> int | None:
        return None if key is None else partition_of(key, self._partitions)

    def close(self, partition: int | None) -> Iterator[Packed]:
        """The open pack of a partition, if there is one."""
        found = self._open.pop(partition, None)
        if found is not None:
            yield Packed(packs.of_lines(found.lines), partition, len(found.lines), found.place)

    def rest(self) -> Iterator[Packed]:
        for partition in list(self._open):
            yield from self.close(partition)


def of_table(stream: Stream, table: pa.Table, partitions: int) -> Iterator[Packed]:
    """The rows of a table as packs; the partition of each row is that of the record that its JSON would be."""
    where = _partitions(stream, table, partitions)
    for partition in np.unique(where).tolist():
        rows = np.flatnonzero(where == partition)
        yield from _cut(table.take(pa.array(rows)).combine_chunks(), None if partition < 0 else partition, rows)


def _partitions(stream: Stream, table: pa.Table, partitions: int) -> Numbers:
    """The partition of each row, -1 for any."""
    if stream.key is None or table.column_names.count(stream.key) != 1:
        return np.full(table.num_rows, -1)
    column = table.column(stream.key).combine_chunks()
    if of.is_nested(column.type):
        return np.array([_partition(text, partitions) for text in cells.texts(column)], np.int64)
    encoded = column if of.is_dictionary(column.type) else column.dictionary_encode()
    known = [*(_partition(text, partitions) for text in cells.texts(encoded.dictionary)), -1]
    found: Numbers = np.array(known)[encoded.indices.fill_null(len(known) - 1).to_numpy(zero_copy_only=False)]
    return found


def _partition(text: str | None, partitions: int) -> int:
    key = None if text is None else key_of_text(text.encode())
    return -1 if key is None else partition_of(key, partitions)


def _cut(rows: pa.Table, partition: int | None, numbers: Numbers) -> Iterator[Packed]:
    """As few packs as keep below the limit; a single row that is larger is left to whoever sends it to refuse."""
    step = max(1, int(rows.num_rows * FULL // max(rows.nbytes * 1.05 + 4096, 1)))
    for start in range(0, rows.num_rows, step):
        part, own = rows.slice(start, step), numbers[start : start + step]
        pack = packs.of_table(part)
        if len(pack.value) <= FULL or part.num_rows == 1:
            yield Packed(pack, partition, part.num_rows, f"row {own[0] + 1}")
        else:
            half = -(-part.num_rows // 2)
            yield from _cut(part.slice(0, half).combine_chunks(), partition, own[:half])
            yield from _cut(part.slice(half).combine_chunks(), partition, own[half:])


def key_of(stream: Stream, value: bytes) -> bytes | None:
    """The record key of a JSON value: the text of its key column, as other producers would write it.

    A value that can't be read has no key: it goes to any partition, and from there to quarantine.
    """
    if stream.key is None:
        return None
    try:
        event = orjson.loads(value)
    except orjson.JSONDecodeError:
        return None
    return _text(event.get(stream.key)) if isinstance(event, dict) else None


def key_of_text(text: bytes) -> bytes | None:
    """The record key that the JSON text of a key column gives."""
    try:
        return _text(orjson.loads(text))
    except orjson.JSONDecodeError:
        return None


def _text(found: object) -> bytes | None:
    if found is None:
        return None
    return found.encode() if isinstance(found, str) else orjson.dumps(found)


@functools.lru_cache(maxsize=1 << 16)
def partition_of(key: bytes, partitions: int) -> int:
    """Where Kafka's clients put a record with a key: murmur2, as in Java.

    >>> [partition_of(key, 1000) for key in (b"", b"21", b"foobar", b"a-little-bit-long-string")]
    [681, 340, 166, 112]
    """
    return (_murmur2(key) & 0x7FFFFFFF) % partitions


def _murmur2(data: bytes) -> int:
    factor, mask = 0x5BD1E995, 0xFFFFFFFF
    value = (0x9747B28C ^ len(data)) & mask
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * factor & mask
        value = (value * factor & mask) ^ ((word ^ word >> 24) * factor & mask)
    if whole < len(data):
        value = (value ^ int.from_bytes(data[whole:], "little")) * factor & mask
    value = (value ^ value >> 13) * factor & mask
    return value ^ value >> 15
