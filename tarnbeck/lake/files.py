"""Files of older events: which there are, what they hold piece by piece, and their rows as events."""

from __future__ import annotations

import csv
import glob
import gzip
import hashlib
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Literal, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tarnbeck.cut import HISTORY, Span
from tarnbeck.errors import LakeError, UsageError
from tarnbeck.log import lines
from tarnbeck.log.lines import Format, Line
from tarnbeck.schema import cells
from tarnbeck.schema.conform import simple
from tarnbeck.schema.decode import RECORDS, Decoded, decode, decode_rows_of
from tarnbeck.schema.decoded import ENTRIES, PLACES, TIME, refused
from tarnbeck.schema.evolve import at, grown
from tarnbeck.schema.stream import FILES, Stream
from tarnbeck.store.state import HistoryFile

PIECE = 32 << 20
"""Bytes of text that are read as one piece; of Parquet it is a row group."""
LONGEST = 64 << 20
"""Bytes of the longest line: a file that has a longer one is not written in lines."""
ROWS = 65_536
BATCH = 16 << 20
"""Rows, and bytes of Parquet, that are decoded at once."""
LOOKED_AT, FEW = 1_000, 10
"""Rows that are looked at before a file is taken; if none of them is an event, and they are not few, it is refused."""


@dataclass(frozen=True)
class Piece:
    """Some neighbouring rows of a file: its row groups, or its bytes, from `begin` up to `end`.

    `first` is the offset of the first row. Compressed text is one piece: it can only be read from its beginning.
    """

    path: str
    modified: int
    begin: int
    end: int
    first: int
    rows: int


@dataclass(frozen=True)
class Found:
    """A file as it is now."""

    name: str
    path: Path
    bytes: int
    modified: int

    def digest(self) -> str:
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "blake2b").hexdigest()[:32]


def find(names: Iterable[str], base: Path) -> list[Found]:
    """The files that names with `*` mean, relative to a folder, sorted by name, each once."""
    found = sorted({file for name in names for file in glob.glob(name, root_dir=base, recursive=True)})
    return [look(name, base) for name in found if (base / name).is_file()]


def look(name: str, base: Path) -> Found:
    path = (base / name).absolute()
    facts = path.stat()
    return Found(name, path, facts.st_size, facts.st_mtime_ns // 1000)


def survey(stream: Stream, file: Found, first: int) -> tuple[HistoryFile, list[Piece]]:
    """Reads a file once: what it is, and its pieces, whose rows are counted from `first` on."""
    place = f"stream '{stream.name}': history: '{file.name}'"
    try:
        pieces = list(_pieces(stream, file, first))
        _look_inside(place, stream, pieces)
        digest = file.digest()
    except UsageError as error:
        raise LakeError(f"{place}: {str(error).removeprefix('send: ')}") from None
    except (pa.ArrowException, csv.Error, OSError, EOFError) as error:
        raise LakeError(f"{place}: it can't be read: {error}\n  mend it, or leave it out of history=") from error
    rows = sum(piece.rows for piece in pieces)
    return HistoryFile(file.name, file.bytes, file.modified, digest, first, rows), pieces


def _look_inside(place: str, stream: Stream, pieces: list[Piece]) -> None:
    """Refuses a file that means something else: what is in the lake once stays there."""
    if not pieces:
        return
    seen: list[Decoded] = []
    for part in _decoded(stream, pieces[0], LOOKED_AT):
        seen.append(part)
        if sum(each.events.num_rows + each.rejects.num_rows for each in seen) >= LOOKED_AT:
            break
    bad = [reason for part in seen for reason in part.rejects.column("reason").to_pylist()]
    if len(bad) >= FEW and not any(part.events.num_rows for part in seen):
        raise LakeError(
            f"{place}: none of its first {len(bad):,} rows fits\n  the first one: {bad[0]}\n"
            f"  declared: {stream.schema}\n  nothing of it was loaded: mend the file, the declaration or history="
        )


def decoded(stream: Stream, piece: Piece, span: Span) -> Iterator[Decoded]:
    """The events of those rows of a piece that are in the span; what is none, with the reasons."""
    whole = (HISTORY, piece.first) in span and (HISTORY, piece.first + piece.rows - 1) in span
    for part in _decoded(stream, piece, ROWS):
        yield part if whole else Decoded(_within(part.events, span), _within(part.rejects, span))


def _within(rows: pa.Table, span: Span) -> pa.Table:
    offset = rows.column("_offset")
    return rows.filter(pc.and_(pc.greater_equal(offset, span.start.history), pc.less(offset, span.end.history)))


def _decoded(stream: Stream, piece: Piece, rows: int) -> Iterator[Decoded]:
    read = _table_events if _kind(piece.path) == "parquet" else _text_events
    for part in read(stream, piece, rows):
        yield replace(part, events=_received(part.events, piece.modified))


def _received(events: pa.Table, modified: int) -> pa.Table:
    """An event was received when it happened, but not after its file was written.

    Else one that is dated years ahead would move the clock by which old windows are let go.
    """
    happened = events.column("_time").cast(pa.int64())
    received = pc.min_element_wise(happened, pa.scalar(modified)).cast(TIME)
    return events.set_column(events.schema.get_field_index("_received"), "_received", received)


def _kind(path: str) -> Literal["parquet", "csv", "json"]:
    return next(kind for suffix, kind in FILES.items() if path.lower().endswith(suffix))


def _pieces(stream: Stream, file: Found, first: int) -> Iterator[Piece]:
    if _kind(file.name) == "parquet":
        return _row_groups(file, first)
    return _parts_of_text(stream, file, first)


def _row_groups(file: Found, first: int) -> Iterator[Piece]:
    with pq.ParquetFile(file.path) as opened:
        for field in opened.schema_arrow:
            if not cells.readable(simple(pa.chunked_array([], field.type)).type):
                raise UsageError(f"column '{field.name}': no event can hold {field.type}\n  cast it, or leave it out")
        for group in range(opened.metadata.num_row_groups):
            rows = opened.metadata.row_group(group).num_rows
            yield Piece(str(file.path), file.modified, group, group + 1, first, rows)
            first += rows


def _table_events(stream: Stream, piece: Piece, rows: int) -> Iterator[Decoded]:
    then = at(stream, HISTORY, piece.first)
    groups = list(range(piece.begin, piece.end))
    first = piece.first
    with pq.ParquetFile(piece.path) as opened:
        size = sum(opened.metadata.row_group(group).total_byte_size for group in groups)
        rows = max(1, min(rows, BATCH * piece.rows // max(size, 1)))
        for batch in opened.iter_batches(rows, row_groups=groups, use_threads=False):
            table = pa.Table.from_batches([batch])
            columns = [simple(column).combine_chunks() for column in table.columns]
            found = pa.Table.from_arrays(columns, names=table.column_names)
            for part in decode_rows_of(then, _places(piece, first, batch.num_rows), found):
                yield part if then is stream else grown(part, stream)
            first += batch.num_rows


def _places(piece: Piece, first: int, count: int) -> pa.Table:
    same = {"partition": HISTORY, "timestamp": piece.modified, "key": None, "index": 0}
    columns = [
        pa.array(range(first, first + count), pa.int64())
        if field.name == "offset"
        else pa.repeat(pa.scalar(same[field.name], field.type), count)
        for field in PLACES
    ]
    return pa.Table.from_arrays(columns, schema=PLACES)


class _Taken:
    """The lines of a file up to a byte, and what was taken of them so far."""

    def __init__(self, file: IO[bytes], begin: int, end: int | None, path: str) -> None:
        self._file, self._end, self._path = file, end, path
        self.at, self.raw = begin, list[bytes]()

    def __iter__(self) -> Iterator[bytes]:
        while self._end is None or self.at < self._end:
            line = self._file.readline(LONGEST)
            if not line:
                return
            if len(line) == LONGEST:
                raise LakeError(
                    f"history: '{self._path}': a line is longer than {LONGEST >> 20} MiB\n"
                    "  expected one event on each line"
                )
            self.at += len(line)
            self.raw.append(line)
            yield line

    def take(self) -> bytes:
        """What was read since this was asked last."""
        found, self.raw = b"".join(self.raw), []
        return found.strip(b"\r\n")


def _text(path: str) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path) if path.lower().endswith(".gz") else Path(path).open("rb"))


def _header(path: str, file: IO[bytes]) -> list[bytes]:
    """The lines of a CSV file that name its columns: a name in quotes may hold line breaks."""
    taken = _Taken(file, 0, None, path)
    next(csv.reader((line.decode("utf-8", "surrogateescape") for line in taken), strict=True), None)
    return taken.raw


def _lines(stream: Stream, path: str, begin: int, end: int | None) -> Iterator[tuple[_Taken, Line]]:
    kind: Format = "csv" if _kind(path) == "csv" else "json"
    with _text(path) as file:
        header = _header(path, file) if kind == "csv" else []
        begin = max(begin, sum(map(len, header)))
        file.seek(begin)
        taken = _Taken(file, begin, end, path)
        for line in lines.read(stream, itertools.chain(header, taken), kind):
            yield taken, line


def _parts_of_text(stream: Stream, file: Found, first: int) -> Iterator[Piece]:
    path = str(file.path)
    packed = path.lower().endswith(".gz")
    begin = rows = end = 0
    for taken, _ in _lines(stream, path, 0, None):
        taken.raw.clear()
        rows, end = rows + 1, taken.at
        if end - begin >= PIECE and not packed:
            yield Piece(path, file.modified, begin, end, first, rows)
            begin, first, rows = end, first + rows, 0
    if rows:
        yield Piece(path, file.modified, begin, end, first, rows)


def _text_events(stream: Stream, piece: Piece, rows: int) -> Iterator[Decoded]:
    offset = piece.first
    found = ((line, taken.take()) for taken, line in _lines(stream, piece.path, piece.begin, piece.end))
    while batch := list(itertools.islice(found, rows)):
        good = [(offset + row, line.value) for row, (line, _) in enumerate(batch) if line.reason is None]
        bad = [(offset + row, line, raw) for row, (line, raw) in enumerate(batch) if line.reason is not None]
        part = decode(stream, _records(piece, good, RECORDS))
        if bad:
            entries = _records(piece, [(row, line.value or raw) for row, line, raw in bad], ENTRIES)
            rejects = pa.concat_tables([part.rejects, refused(entries, [line.reason or "" for _, line, _ in bad])])
            part = replace(part, rejects=rejects.sort_by("_offset"))
        yield part
        offset += len(batch)


def _records(piece: Piece, values: list[tuple[int, bytes]], schema: pa.Schema) -> pa.Table:
    known = {
        "partition": [HISTORY] * len(values),
        "offset": [offset for offset, _ in values],
        "timestamp": [piece.modified] * len(values),
        "index": [0] * len(values),
        "value": [value for _, value in values],
    }
    nothing = [None] * len(values)
    return pa.Table.from_arrays([pa.array(known.get(f.name, nothing), f.type) for f in schema], schema=schema)
