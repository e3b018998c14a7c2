"""Records of the log -> events and rejects: the one decoding that lake, speed, memory and audit share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tarnbeck.schema import cells, packs
from tarnbeck.schema.cast import decode_table
from tarnbeck.schema.decoded import ENTRIES, RECORDS, REJECTS, Decoded, events_schema, refused
from tarnbeck.schema.evolve import below, grown
from tarnbeck.schema.fast import decode_batch, plan
from tarnbeck.schema.packs import Kind
from tarnbeck.schema.rows import decode_rows
from tarnbeck.schema.stream import Stream
from tarnbeck.schema.strict import Reject

__all__ = ["RECORDS", "REJECTS", "Decoded", "decode", "decode_rows_of", "events_schema"]

BATCH = 8192
"""Events decoded at once: enough to be quick, few enough to stay in a processor's cache."""
PARTS = 8
"""Into how many parts a batch with a doubtful event is cut, so that one bad event slows down only its neighbours."""
FEW = 1024
"""Events so few that they are decoded row by row when in doubt: pyarrow costs a tenth of a millisecond per call."""
MOST_BYTES = 64 << 20
GROUP_BYTES = 16 << 20
"""Bytes of packed records that are taken apart at once."""

PLACE = [("_partition", "ascending"), ("_offset", "ascending"), ("_index", "ascending")]


def decode(stream: Stream, records: pa.Table) -> Decoded:
    """The events that records hold, and whatever holds none, with the reasons; both in the order of the log.

    `records` has the columns of RECORDS. The same records give the same result wherever and however they are batched.
    """
    records = records.select(RECORDS.names).cast(RECORDS)
    parts = []
    for former in stream.former:
        old = below(records, former.until)
        if pc.any(old).as_py():
            then = replace(stream, schema=former.schema, former=())
            parts.append(grown(_decoded(then, records.filter(old)), stream))
            records = records.filter(pc.invert(old))
    newest = _decoded(stream, records)
    return _together(stream, iter([*parts, newest])) if parts else newest


def _decoded(stream: Stream, records: pa.Table) -> Decoded:
    if records.column("content_type").null_count == records.num_rows:
        return _together(stream, _texts(stream, packs.plain(records)))
    return _together(stream, (_group(stream, group) for group in _groups(records)))


def _together(stream: Stream, parts: Iterator[Decoded]) -> Decoded:
    found = list(parts)
    return Decoded(
        pa.concat_tables([events_schema(stream).empty_table(), *(part.events for part in found)]),
        pa.concat_tables([REJECTS.empty_table(), *(part.rejects for part in found)]),
    )


def _groups(records: pa.Table) -> Iterator[pa.Table]:
    """Records in groups of so many bytes, or of one record."""
    sizes = pc.fill_null(pc.binary_length(records.column("value")), 0).to_numpy()
    group = (np.cumsum(sizes) - sizes) // GROUP_BYTES
    begins = np.flatnonzero(np.diff(group, prepend=-1))
    for begin, end in zip(begins, [*begins[1:], records.num_rows], strict=True):
        yield records.slice(begin, end - begin)


def _group(stream: Stream, records: pa.Table) -> Decoded:
    kinds = packs.kinds(records)
    found = [
        _together(stream, _OPENED[kind](stream, records.filter(pa.array(kinds == kind.value))))
        for kind in Kind
        if np.any(kinds == kind.value)
    ]
    if len(found) == 1:
        return found[0]
    whole = _together(stream, iter(found))
    return Decoded(whole.events.sort_by(PLACE), whole.rejects.sort_by(PLACE))


def _plain(stream: Stream, records: pa.Table) -> Iterator[Decoded]:
    return _texts(stream, packs.plain(records))


def _lines(stream: Stream, records: pa.Table) -> Iterator[Decoded]:
    return _texts(stream, packs.lines(records))


def _tables(stream: Stream, records: pa.Table) -> Iterator[Decoded]:
    """Neighbours with the same columns are decoded together."""
    parents: list[int] = []
    tables: list[pa.Table] = []
    for at, value in enumerate(records.column("value").combine_chunks()):
        try:
            table = packs.table(value.as_buffer())
        except Reject as reject:
            yield from _rows_of(stream, records, parents, tables)
            parents, tables = [], []
            whole = records.slice(at, 1).append_column("index", pa.nulls(1, pa.int32())).select(ENTRIES.names)
            yield Decoded(events_schema(stream).empty_table(), refused(whole, [str(reject)]))
            continue
        if tables and table.schema != tables[0].schema:
            yield from _rows_of(stream, records, parents, tables)
            parents, tables = [], []
        parents.append(at)
        tables.append(table)
    yield from _rows_of(stream, records, parents, tables)


def _rows_of(stream: Stream, records: pa.Table, parents: list[int], tables: list[pa.Table]) -> Iterator[Decoded]:
    if not tables:
        return iter(())
    places = packs.places(records, np.repeat(parents, [table.num_rows for table in tables]))
    return decode_rows_of(stream, places, pa.concat_tables(tables).combine_chunks())


_OPENED = {Kind.PLAIN: _plain, Kind.LINES: _lines, Kind.ARROW: _tables}


def decode_rows_of(stream: Stream, places: pa.Table, columns: pa.Table) -> Iterator[Decoded]:
    """The rows of Arrow tables as events: at once, or by way of the JSON that they mean."""
    if not columns.num_rows:
        return
    events = decode_table(stream, places, columns)
    if events is not None:
        yield Decoded(events, REJECTS.empty_table())
    elif columns.num_rows <= FEW:
        texts = pa.array(cells.objects(columns), pa.binary())
        yield from _texts(stream, places.append_column("value", texts))
    else:
        for start, count in _cuts(columns.num_rows):
            yield from decode_rows_of(stream, places.slice(start, count), columns.slice(start, count))


def _texts(stream: Stream, entries: pa.Table) -> Iterator[Decoded]:
    for start in range(0, entries.num_rows, BATCH):
        yield from _parts(stream, entries.slice(start, BATCH))


def _parts(stream: Stream, entries: pa.Table) -> Iterator[Decoded]:
    events = decode_batch(stream, entries) if _small(entries) else None
    if events is not None:
        yield Decoded(events, REJECTS.empty_table())
    elif entries.num_rows <= FEW or plan(stream) is None or _mostly_odd(stream, entries):
        yield decode_rows(stream, entries)
    else:
        for start, count in _cuts(entries.num_rows):
            yield from _parts(stream, entries.slice(start, count))


def _cuts(rows: int) -> Iterator[tuple[int, int]]:
    step = -(-rows // PARTS)
    return ((start, step) for start in range(0, rows, step))


def _small(entries: pa.Table) -> bool:
    return bool((pc.sum(pc.binary_length(entries.column("value"))).as_py() or 0) <= MOST_BYTES)


def _mostly_odd(stream: Stream, entries: pa.Table) -> bool:
    """Whether a sample says that ever smaller parts would be in doubt too, as when every event has unknown fields."""
    sample = entries.take([0, entries.num_rows // 2, entries.num_rows - 1])
    return bool(decode_rows(stream, sample).events.column("_extra").null_count < 2)
