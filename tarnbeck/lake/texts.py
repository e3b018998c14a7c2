"""Text files read block by block: their rows as the JSON texts that they mean, many at once where that is safe."""

from __future__ import annotations

import csv
import functools
import gzip
import io
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv

from tarnbeck.errors import LakeError
from tarnbeck.log import lines
from tarnbeck.log.lines import Format
from tarnbeck.schema.stream import Stream
from tarnbeck.schema.types import BOOL, INT

BLOCK = 8 << 20
"""Bytes that are read at once."""
LONGEST = 64 << 20
"""Bytes of the longest line: a file that has a longer one is not written in lines."""

BLANK, EMPTY = r"^[ \t\r\f\v]*$", r"^\r?$"
"""Lines that are no rows, of JSON lines and of CSV."""
CELL = r'("[^"\r\n]*"|[^",\r\n]*)'
PLAIN_ROW = rf"^{CELL}(,{CELL})*\r?$"
"""A row that no two readers of CSV can read differently: no quotes inside of quotes, no line breaks."""
NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
ESCAPED = r'[\x00-\x1f"\\]'

Columns = list[tuple[str, Callable[[str], str]]]
"""Of each column its name in JSON, and what makes its cells JSON."""


class Doubt(Exception):
    """A cell that the quick way might write otherwise than the row-wise one."""


@dataclass(frozen=True)
class Rows:
    """Neighbouring rows: a JSON text each, or the row as it was and the reason why it is none."""

    texts: pa.Array
    reasons: dict[int, str]


@dataclass(frozen=True)
class Block:
    """Some rows of a file, and the byte behind them."""

    count: int
    end: int
    rows: Callable[[], Rows]


def blocks(stream: Stream, path: str, begin: int = 0, end: int | None = None) -> Iterator[Block]:
    """The rows of a file from a byte up to another, where rows begin and end."""
    read = _csv if is_csv(path) else _json
    with _opened(path) as file:
        yield from read(stream, file, path, begin, end)


def packed(path: str) -> bool:
    return path.lower().endswith(".gz")


def is_csv(path: str) -> bool:
    return path.lower().removesuffix(".gz").endswith(".csv")


def _opened(path: str) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path) if packed(path) else Path(path).open("rb"))


def _line(file: IO[bytes], path: str) -> bytes:
    line = file.readline(LONGEST)
    if len(line) == LONGEST:
        raise LakeError(
            f"history: '{path}': a line is longer than {LONGEST >> 20} MiB\n  expected one event on each line"
        )
    return line


def _whole_lines(file: IO[bytes], path: str, at: int, end: int | None) -> bytes:
    """The next block; it ends with a line."""
    block = file.read(BLOCK if end is None else max(0, min(BLOCK, end - at)))
    return block if block.endswith(b"\n") or not block else block + _line(file, path)


def _split(block: bytes, no_row: str) -> pa.Array:
    """The lines of a block that are rows."""
    found = pc.split_pattern(pa.array([block], pa.large_binary()), "\n").flatten()
    return found.filter(pc.invert(pc.match_substring_regex(found, no_row)))


def _json(_: Stream, file: IO[bytes], path: str, at: int, end: int | None) -> Iterator[Block]:
    file.seek(at)
    while block := _whole_lines(file, path, at, end):
        at += len(block)
        found = _split(block, BLANK)
        yield Block(len(found), at, functools.partial(_as_they_are, Rows(found.cast(pa.binary()), {})))


def _as_they_are(rows: Rows) -> Rows:
    return rows


def _csv(stream: Stream, file: IO[bytes], path: str, at: int, end: int | None) -> Iterator[Block]:
    head = _head(file, path)
    names = lines.columns_of(stream, next(csv.reader(_texts(head)), []))
    at = max(at, sum(map(len, head)))
    file.seek(at)
    while block := _whole_lines(file, path, at, end):
        found = _split(block, EMPTY)
        if pc.all(pc.match_substring_regex(found, PLAIN_ROW)).as_py() is not False:
            at += len(block)
            yield Block(len(found), at, functools.partial(_plain_rows, stream, head, names, block, len(found)))
        else:
            taken = _Taken(block, file, path, None if end is None else end - at)
            rows = _read(stream, head, taken)
            at += taken.size
            yield Block(len(rows.texts), at, functools.partial(_as_they_are, rows))


def _head(file: IO[bytes], path: str) -> list[bytes]:
    """The lines that name the columns: a name in quotes may hold line breaks."""
    taken = _Taken(b"", file, path)
    next(csv.reader(_texts(taken), strict=True), None)
    return taken.raw


def _texts(found: Iterable[bytes]) -> Iterator[str]:
    return (line.decode("utf-8", "surrogateescape") for line in found)


class _Taken:
    """The lines of a block, and those behind it for as long as someone asks; what was taken is remembered."""

    def __init__(self, block: bytes, file: IO[bytes], path: str, most: int | None = None) -> None:
        self._block, self._file, self._path, self._most = io.BytesIO(block), file, path, most
        self._length, self.size, self.raw = len(block), 0, list[bytes]()

    def __iter__(self) -> Iterator[bytes]:
        while self._most is None or self.size < self._most:
            line = self._block.readline() or _line(self._file, self._path)
            if not line:
                return
            self.size += len(line)
            self.raw.append(line)
            yield line

    @property
    def over(self) -> bool:
        return self.size >= self._length


def _read(stream: Stream, head: list[bytes], taken: _Taken) -> Rows:
    """Row by row, up to the end of the row in which the block ends."""
    texts: list[bytes] = []
    reasons: dict[int, str] = {}
    kind: Format = "csv"
    if taken.over:
        return Rows(pa.array([], pa.binary()), {})
    for line in lines.read(stream, itertools.chain(head, taken), kind):
        if line.reason is not None:
            reasons[len(texts)] = line.reason
        texts.append(line.value if line.reason is None else b"".join(taken.raw).strip(b"\r\n"))
        taken.raw.clear()
        if taken.over:
            break
    return Rows(pa.array(texts, pa.binary()), reasons)


def _plain_rows(stream: Stream, head: list[bytes], names: Columns, block: bytes, count: int) -> Rows:
    """Rows that can be taken apart in one way only: all at once if there is no doubt about any cell."""
    try:
        return Rows(_objects(names, block, count), {})
    except (Doubt, pa.ArrowInvalid):
        return _read(stream, head, _Taken(block, io.BytesIO(), ""))


def _objects(names: Columns, block: bytes, count: int) -> pa.Array:
    places = [str(place) for place in range(len(names))]
    table = pv.read_csv(
        pa.BufferReader(block),
        read_options=pv.ReadOptions(use_threads=False, column_names=places, block_size=len(block) + 1),
        parse_options=pv.ParseOptions(double_quote=False),
        convert_options=pv.ConvertOptions(column_types=dict.fromkeys(places, pa.string()), strings_can_be_null=False),
    )
    if table.num_rows != count:
        raise Doubt
    members = []
    for place, (name, cell) in zip(places, names, strict=True):
        column = table.column(place).combine_chunks()
        there = pc.not_equal(column, "")
        value = _WAYS.get(cell, _doubtful)(column.filter(there), column)
        members.append(pc.if_else(there, pc.binary_join_element_wise(f",{name}:", value, ""), ""))
    # Without the first comma.
    joined = pc.utf8_slice_codeunits(pc.binary_join_element_wise(*members, ""), 1)
    return pc.binary_join_element_wise("{", joined, "}", "").cast(pa.binary())


def _numbers(given: pa.Array, column: pa.Array) -> pa.Array:
    _all(given, NUMBER)
    return column


def _booleans(given: pa.Array, column: pa.Array) -> pa.Array:
    _all(given, "^(true|false)$")
    return column


def _strings(given: pa.Array, column: pa.Array) -> pa.Array:
    if pc.any(pc.match_substring_regex(given, ESCAPED)).as_py():
        raise Doubt
    return pc.binary_join_element_wise('"', column, '"', "")


def _doubtful(_: pa.Array, __: pa.Array) -> pa.Array:
    raise Doubt


def _all(given: pa.Array, pattern: str) -> None:
    if pc.all(pc.match_substring_regex(given, pattern)).as_py() is False:
        raise Doubt


_WAYS = {lines.cell(INT): _numbers, lines.cell(BOOL): _booleans, lines.cell(None): _strings}
"""What makes a cell JSON -> what does the same to a whole column, or doubts."""
