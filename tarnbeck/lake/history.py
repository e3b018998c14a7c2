"""Loads the files of a stream's history into the lake, step by step, each exactly once, beside the lake writer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from tarnbeck.cut import Span
from tarnbeck.errors import LakeError, NotReady
from tarnbeck.lake import files, writer
from tarnbeck.lake import tables as lake
from tarnbeck.lake.files import Found, Piece
from tarnbeck.lake.tables import Tables
from tarnbeck.lake.writer import FILES, Landing
from tarnbeck.schema.decode import Decoded
from tarnbeck.schema.stream import Stream
from tarnbeck.spark.kafka import Counter
from tarnbeck.store.definitions import stream_of
from tarnbeck.store.protocol import HISTORY, LOADED, Store
from tarnbeck.store.state import HistoryFile, Intent

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STEP_ROWS = 1_000_000
STEP_PIECES = 8
"""Rows and pieces of one commit at the most: what a crash costs, and how long others wait for their turn."""
PIECES = "path string, modified bigint, begin bigint, end bigint, first bigint, rows bigint"


@dataclass(frozen=True)
class Loaded:
    """How far the history of a stream is: rows in the lake, and files that they are of."""

    stream: str
    files: int
    rows: int
    quarantined: int


@dataclass(frozen=True)
class Loading:
    """One run of the loader for one stream."""

    spark: SparkSession
    store: Store
    tables: Tables
    token: int
    base: Path
    told: Callable[[Loaded], None]
    quarantined: list[int] = field(default_factory=list)

    @property
    def stream(self) -> str:
        return self.tables.stream.name

    def loaded(self) -> int:
        return self.store.lake_cut(self.stream).history


def load(
    spark: SparkSession,
    store: Store,
    root: str,
    name: str,
    base: Path,
    *,
    told: Callable[[Loaded], None],
    stop: threading.Event,
) -> Loaded:
    """Brings all files that a stream's `history=` names into the lake; goes on where an earlier run was cut off."""
    token = store.take_token(HISTORY)
    state = store.streams()[name]
    stream = stream_of(state)
    run = Loading(spark, store, Tables(root, stream), token, base, told)
    lake.create(spark, run.tables)
    if stream.former:
        lake.grow(spark, run.tables)
    known = store.history(name)
    found = files.find(stream.history, base)
    refuse_changed(name, known, found, run.loaded(), base)
    if state.loading is not None:
        _redone(run, state.loading)
    for step in _steps(_pieces(run, found)):
        if stop.is_set():
            raise NotReady(f"history: stream '{name}': stopped\n  the next start goes on from there")
        _load(run, step)
    done = _told(run)
    store.set_meta(LOADED + name, str(done.rows))
    return done


def _told(run: Loading) -> Loaded:
    rows = run.loaded()
    done = [file for file in run.store.history(run.stream) if file.end <= rows]
    found = Loaded(run.stream, len(done), rows, sum(run.quarantined))
    run.told(found)
    return found


def refuse_changed(stream: str, known: Sequence[HistoryFile], found: Sequence[Found], loaded: int, base: Path) -> None:
    """Refuses files that are not what they were when they were loaded; one that is gone must not be loaded in part."""
    here = {file.name: file for file in found}
    for file in known:
        there, partly = (base / file.name).is_file(), file.end > loaded
        if not there and partly:
            raise LakeError(
                f"stream '{stream}': history: '{file.name}' is gone, and its rows are loaded only in part\n"
                "  bring it back as it was: the rest is loaded then"
            )
        now = files.look(file.name, base) if partly else here.get(file.name)
        if now is not None and _changed(file, now, sure=partly):
            raise LakeError(
                f"stream '{stream}': history: '{file.name}' has changed since its {file.rows:,} rows were loaded\n"
                f"  they are in the lake from history:{file.first} up to {file.end}, where events are never changed\n"
                "  bring the file back as it was, or give new events in a new file"
            )


def _changed(then: HistoryFile, now: Found, *, sure: bool) -> bool:
    """Whether a file has other bytes; one of the same size and moment is looked into only where it must be sure."""
    if now.bytes != then.bytes:
        return True
    return (sure or now.modified != then.modified) and now.digest() != then.digest


def _pieces(run: Loading, found: Sequence[Found]) -> Iterator[Piece]:
    """All that is to be loaded, in order; a new file gets its place behind the others."""
    store, stream, loaded = run.store, run.tables.stream, run.loaded()
    known = store.history(stream.name)
    for file in known:
        if file.end > loaded:
            _, pieces = files.survey(stream, files.look(file.name, run.base), file.first)
            yield from (piece for piece in pieces if piece.first + piece.rows > loaded)
    names, first = {file.name for file in known}, known[-1].end if known else 0
    digests = {file.digest: file.name for file in known}
    for new in found:
        if new.name in names:
            continue
        file, pieces = files.survey(stream, new, first)
        if file.digest in digests and file.rows:
            raise LakeError(
                f"stream '{stream.name}': history: '{file.name}' has the same content as '{digests[file.digest]}', "
                "whose rows are in the lake\n  take it away, or leave it out of history="
            )
        if not store.add_history(run.token, stream.name, file):
            raise NotReady(f"history: stream '{stream.name}': another loader goes on\n  start again")
        digests[file.digest], first = file.name, file.end
        yield from pieces


def _steps(pieces: Iterator[Piece]) -> Iterator[list[Piece]]:
    """Neighbouring pieces that are loaded at once."""
    step: list[Piece] = []
    for piece in pieces:
        if step and (len(step) == STEP_PIECES or sum(each.rows for each in step) + piece.rows > STEP_ROWS):
            yield step
            step = []
        step.append(piece)
    if step:
        yield step


def _load(run: Loading, pieces: list[Piece]) -> None:
    have = run.store.lake_cut(run.stream)
    end = have.with_history(pieces[-1].first + pieces[-1].rows)
    intent = run.store.open_intent(run.token, run.stream, have, end)
    if intent is None:
        raise NotReady(f"history: stream '{run.stream}': another loader goes on\n  start again")
    _write(run, intent, pieces, redo=False)


def _redone(run: Loading, intent: Intent) -> None:
    """What an earlier loader left open, over exactly the same rows."""
    own = [f for f in run.store.history(run.stream) if f.first < intent.end.history and f.end > intent.start.history]
    pieces: list[Piece] = []
    for file in own:
        pieces += files.survey(run.tables.stream, files.look(file.name, run.base), file.first)[1]
    _write(run, intent, pieces, redo=True)


def _write(run: Loading, intent: Intent, pieces: list[Piece], *, redo: bool) -> None:
    span, tables = intent.start.span_to(intent.end), run.tables
    rejected = Counter(run.spark)
    frame = run.spark.createDataFrame([astuple(piece) for piece in pieces], PIECES)
    events, rejects = _events(frame, tables, span, rejected), _rejects(frame, tables, span)
    writer.land(Landing(tables, span, FILES, intent.id), events, rejects, rejected, redo=redo)
    for piece in pieces:
        _refuse_touched(run.stream, piece)
    if not run.store.close_intent(intent):
        raise NotReady(f"history: stream '{run.stream}': another loader goes on\n  start again")
    run.quarantined.append(rejected.value)
    _told(run)


def _refuse_touched(stream: str, piece: Piece) -> None:
    """A file that is written to while it is read gives rows that nobody can tell again."""
    now = files.look(piece.path, Path())
    if now.modified != piece.modified:
        raise LakeError(
            f"stream '{stream}': history: '{piece.path}' was written to while it was loaded\n"
            "  bring it back as it was, and start again"
        )


def _events(frame: DataFrame, tables: Tables, span: Span, rejected: Counter) -> DataFrame:
    stream = tables.stream

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part in _decoded(stream, span, batches):
            if part.rejects.num_rows:
                rejected.add(part.rejects.num_rows)
            yield from part.events.to_batches()

    return frame.mapInArrow(run, tables.events_type)


def _rejects(frame: DataFrame, tables: Tables, span: Span) -> DataFrame:
    stream = tables.stream

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part in _decoded(stream, span, batches):
            yield from part.rejects.to_batches()

    return frame.mapInArrow(run, tables.quarantine_type)


def _decoded(stream: Stream, span: Span, batches: Iterator[pa.RecordBatch]) -> Iterator[Decoded]:
    for batch in batches:
        for row in batch.to_pylist():
            yield from files.decoded(stream, Piece(**row), span)
