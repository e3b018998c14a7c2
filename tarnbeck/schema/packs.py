"""Packed records: many events in one record of the log, as JSON lines or as an Arrow stream."""

from __future__ import annotations

import enum
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tarnbeck.schema import cells, ipc
from tarnbeck.schema.decoded import ENTRIES, PLACES
from tarnbeck.schema.strict import LARGEST, Reject, shorten

HEADER = "content-type"
"""The header of a Kafka record that tells how its value is written."""
NDJSON = "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"
MOST_EVENTS = LARGEST
"""Events of one Arrow pack at the most: rows of nulls take no bytes, and could be as many as a number can say."""

Places = npt.NDArray[np.int64]


@runtime_checkable
class GivesArrow(Protocol):
    """A pyarrow Table, or any other thing that gives one, such as a data frame."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class Kind(enum.Enum):
    """How a record's value is written."""

    PLAIN = 0
    LINES = 1
    ARROW = 2


@dataclass(frozen=True)
class Pack:
    """A record's value that holds many events."""

    value: bytes
    content_type: str


def of_lines(lines: Iterable[bytes]) -> Pack:
    """JSON texts, none of which holds a line break, as one pack."""
    return Pack(b"\n".join(lines), NDJSON)


def of_table(table: pa.Table) -> Pack:
    """A table as one pack, whatever its size."""
    sink = pa.BufferOutputStream()
    table = table.replace_schema_metadata()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return Pack(sink.getvalue().to_pybytes(), ARROW)


def kind_of(content_type: bytes | None) -> Kind:
    """What a content type says; one that is no pack's says nothing, for other producers set it to all sorts."""
    named = (content_type or b"").split(b";")[0].strip().lower()
    return _KINDS.get(named, Kind.PLAIN)


_KINDS = {NDJSON.encode(): Kind.LINES, ARROW.encode(): Kind.ARROW}


def kinds(records: pa.Table) -> npt.NDArray[np.int8]:
    """The kind of each record, as the number of its enum; a record without a value is plain, and refused as such."""
    types = records.column("content_type").combine_chunks().dictionary_encode()
    numbers = np.array([*(kind_of(each).value for each in types.dictionary.to_pylist()), 0], np.int8)
    known = pc.and_(types.is_valid(), records.column("value").combine_chunks().is_valid())
    at = pc.if_else(known, pc.fill_null(types.indices, 0), len(numbers) - 1)
    found: npt.NDArray[np.int8] = numbers[at.to_numpy(zero_copy_only=False)]
    return found


def plain(records: pa.Table) -> pa.Table:
    """The entries of records that each hold one event."""
    index = pa.repeat(pa.scalar(0, pa.int32()), records.num_rows)
    return records.append_column("index", index).select(ENTRIES.names)


def lines(records: pa.Table) -> pa.Table:
    """The entries of packs of JSON lines; an empty line is none."""
    split = pc.split_pattern(records.column("value").combine_chunks(), "\n")
    found, parents = split.flatten(), pc.list_parent_indices(split)
    there = pc.greater(pc.binary_length(found), 0)
    return places(records, parents.filter(there).to_numpy()).append_column("value", found.filter(there))


def places(records: pa.Table, parents: Places) -> pa.Table:
    """Where events stand, given the row of each one's record; those of one record stand together."""
    begins = np.flatnonzero(np.diff(parents, prepend=-1))
    counts = np.diff(begins, append=len(parents))
    index = np.arange(len(parents)) - np.repeat(begins, counts)
    found = records.select(["partition", "offset", "timestamp", "key"]).take(pa.array(parents))
    return found.append_column("index", pa.array(index, pa.int32())).select(PLACES.names)


def opened(value: bytes, content_type: bytes | None) -> list[bytes]:
    """The events of one record as JSON texts, or Reject."""
    match kind_of(content_type):
        case Kind.LINES:
            return [line for line in value.split(b"\n") if line]
        case Kind.ARROW:
            return cells.objects(table(value))
    return [value]


def backwards(value: bytes, content_type: bytes | None, at_once: int) -> tuple[int, Iterator[bytes]]:
    """How many events one record has, and their JSON texts, the last one first, or Reject.

    Texts are made when they are asked for, about `at_once` bytes at a time: a small pack may hold very many events, and
    one word of a dictionary may stand in all of them.
    """
    match kind_of(content_type):
        case Kind.LINES:
            begins = _begins(value)
            return len(begins), (_line(value, int(begin)) for begin in begins[::-1])
        case Kind.ARROW:
            rows = table(value)
            return rows.num_rows, _from_last(rows, at_once)
    return 1, iter((value,))


def _begins(value: bytes) -> Places:
    """Where each line begins that is not empty."""
    ends = np.frombuffer(value, np.uint8) == ord("\n")
    return np.flatnonzero(~ends & np.concatenate(([True], ends))[:-1])


def _line(value: bytes, begin: int) -> bytes:
    end = value.find(b"\n", begin)
    return value[begin:] if end < 0 else value[begin:end]


def _from_last(rows: pa.Table, at_once: int) -> Iterator[bytes]:
    named = zip(rows.column_names, rows.columns, strict=True)
    bound = sum(6 * len(name) + 4 + max(map(cells.longest, column.chunks), default=0) for name, column in named)
    step = max(1, at_once // (bound + 2))
    for end in range(rows.num_rows, 0, -step):
        begin = max(0, end - step)
        yield from reversed(cells.objects(_spelled_out(rows.slice(begin, end - begin))))


def _spelled_out(rows: pa.Table) -> pa.Table:
    """Rows without dictionaries, of which all words would be written, whether a row has them or not."""
    for at, field in enumerate(rows.schema):
        if pa.types.is_dictionary(field.type):
            chunks = [chunk.dictionary.take(chunk.indices) for chunk in rows.column(at).chunks]
            rows = rows.set_column(at, field.name, pa.chunked_array(chunks, field.type.value_type))
    return rows


def table(value: bytes | pa.Buffer) -> pa.Table:
    """The rows of an Arrow stream, checked to the last bit, or Reject."""
    source = pa.BufferReader(value)
    try:
        if ipc.compressed(pa.py_buffer(value)):
            raise Reject("a compressed Arrow stream: packs are compressed by Kafka")
        with pa.ipc.open_stream(source) as reader:
            for field in reader.schema:
                if not cells.readable(field.type):
                    raise Reject(f"{shorten(field.name)}: no event can hold {shorten(str(field.type))}")
            found = reader.read_all()
            found.validate(full=True)
    except UnicodeDecodeError:
        raise Reject("not an Arrow stream: the name of a column or a zone is not UTF-8") from None
    except (pa.ArrowException, OSError, struct.error) as error:
        raise Reject(f"not an Arrow stream: {shorten(str(error).splitlines()[0], 200)}") from None
    if source.tell() != source.size():
        raise Reject(f"something follows the Arrow stream at byte {source.tell()}")
    if found.num_rows > MOST_EVENTS:
        raise Reject(f"more than {MOST_EVENTS} events")
    return found
