"""Files of older events: which there are, what they hold piece by piece, and their rows as events."""

from __future__ import annotations

import csv
import glob
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tarnbeck.cut import HISTORY, Span
from tarnbeck.errors import LakeError, UsageError
from tarnbeck.lake import texts
from tarnbeck.lake.texts import Rows
from tarnbeck.schema import cells
from tarnbeck.schema.conform import simple
from tarnbeck.schema.decode import RECORDS, Decoded, decode, decode_rows_of
from tarnbeck.schema.decoded import ENTRIES, PLACES, TIME, refused
from tarnbeck.schema.evolve import at, grown
from tarnbeck.schema.stream import Stream
from tarnbeck.store.state import HistoryFile

PIECE = 32 << 20
"""Bytes of text that are read as one piece; of Parquet it is a row group."""
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
    read = _table_events if _is_parquet(piece.path) else _text_events
    for part in read(stream, piece, rows):
        yield replace(part, events=_received(part.events, piece.modified))


def _received(events: pa.Table, modified: int) -> pa.Table:
    """An event was received when it happened, but not after its file was written.

    Else one that is dated years ahead would move the clock by which old windows are let go.
    """
    happened = events.column("_time").cast(pa.int64())
    received = pc.min_element_wise(happened, pa.scalar(modified)).cast(TIME)
    return events.set_column(events.schema.get_field_index("_received"), "_received", received)


def _is_parquet(path: str) -> bool:
    return path.lower().endswith(".parquet")


def _pieces(stream: Stream, file: Found, first: int) -> Iterator[Piece]:
    if _is_parquet(file.name):
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


def _parts_of_text(stream: Stream, file: Found, first: int) -> Iterator[Piece]:
    path = str(file.path)
    begin = rows = end = 0
    for block in texts.blocks(stream, path):
        rows, end = rows + block.count, block.end
        if end - begin >= PIECE and not texts.packed(path):
            yield Piece(path, file.modified, begin, end, first, rows)
            begin, first, rows = end, first + rows, 0
    if rows:
        yield Piece(path, file.modified, begin, end, first, rows)


def _text_events(stream: Stream, piece: Piece, most: int) -> Iterator[Decoded]:
    first = piece.first
    for block in texts.blocks(stream, piece.path, piece.begin, piece.end):
        rows = block.rows()
        for start in range(0, block.count, most):
            yield _rows_decoded(stream, piece, rows, first, range(start, min(start + most, block.count)))
        first += block.count
    if first != piece.first + piece.rows:
        raise LakeError(
            f"history: '{piece.path}': expected {piece.rows:,} rows from byte {piece.begin} on, found "
            f"{first - piece.first:,}\n  it was written to meanwhile: bring it back as it was"
        )


def _rows_decoded(stream: Stream, piece: Piece, rows: Rows, first: int, chosen: range) -> Decoded:
    places = _places(piece, first + chosen.start, len(chosen))
    entries = places.append_column("value", rows.texts.slice(chosen.start, len(chosen)))
    bad = [row - chosen.start for row in chosen if row in rows.reasons] if rows.reasons else []
    good = pa.array(np.delete(np.arange(len(chosen)), bad))
    records = entries.append_column("content_type", pa.nulls(len(chosen), pa.binary())).select(RECORDS.names)
    part = decode(stream, records.take(good) if bad else records)
    if not bad:
        return part
    reasons = [rows.reasons[row + chosen.start] for row in bad]
    rejects = pa.concat_tables([part.rejects, refused(entries.select(ENTRIES.names).take(bad), reasons)])
    return replace(part, rejects=rejects.sort_by("_offset"))
