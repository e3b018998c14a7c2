"""Generations in SQLite: each a file of its own, written under a lease, so that loading one never blocks commits."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from tarnbeck.cut import Cut, Span
from tarnbeck.errors import StoreError
from tarnbeck.plan.layout import Layout
from tarnbeck.store import rows, rules
from tarnbeck.store.connection import Writer, connect
from tarnbeck.store.protocol import LeaseLost
from tarnbeck.store.state import Stage

LEASE_US = 120_000_000
"""How long a builder may be silent; it renews the lease after a third of that."""
_BULK = ("journal_mode = OFF", "synchronous = OFF", "locking_mode = EXCLUSIVE", "cache_size = -65536")
"""Nobody reads the file before it is sealed, and one that a crash left behind is thrown away."""
_SAVING = ("busy_timeout = 0", "locking_mode = EXCLUSIVE", "journal_mode = WAL", "cache_size = -65536")
"""Each save is whole or not there; the lock keeps a second builder off for as long as the first one lives."""


Names = tuple[int, int]
"""The ids of a generation and of its version."""


@dataclass(frozen=True)
class Files:
    """The folder of the generations' files."""

    folder: Path

    def path(self, generation: int) -> Path:
        return self.folder / f"{generation:d}.db"

    def ids(self) -> set[int]:
        """The generations there are files of."""
        return {int(path.stem) for path in self.folder.glob("*.db")}

    def remove(self, generation: int) -> None:
        for path in (self.path(generation), self.path(generation).with_suffix(".db-wal")):
            path.unlink(missing_ok=True)


@dataclass(frozen=True)
class Shop:
    """What every builder of a store works with."""

    writer: Writer
    files: Files
    clock: Callable[[], int]


class SQLiteBuilding:
    """One generation being written; it belongs to whoever holds this object, until its lease runs out."""

    def __init__(
        self, shop: Shop, layout: Layout, names: Names, con: sqlite3.Connection, cut: Cut, base: int | None = None
    ) -> None:
        self.id, self.version = names
        self.cut, self.base = cut, base
        self._shop, self._layout, self._con = shop, layout, con
        self._path = shop.files.path(self.id)
        self._renewed = shop.clock()

    def write(self, partial: pa.Table) -> None:
        """Merge a partial into the generation; the same key and pane may come again."""
        if self._shop.clock() - self._renewed > LEASE_US // 3:
            self.renew()
        merged = rows.from_arrow(partial, self._layout)
        rows.merge_into(self._con, rows.GENERATION, rows.WHOLE, self._layout, merged)

    def trim(self, level: int, before: int) -> None:
        """Leave out the panes of a level that start before this, those of the base too."""
        query = f"DELETE FROM {rows.GENERATION} WHERE part = ? AND level = ? AND pane < ?"  # noqa: S608
        self._con.execute(query, (rows.WHOLE, level, before))

    def renew(self) -> None:
        """Prolong the lease; raises LeaseLost when it is too late."""
        now = self._shop.clock()
        self._update("UPDATE generations SET lease = ? WHERE id = ?", (now + LEASE_US, self.id))
        self._renewed = now

    def seal(self) -> None:
        """Complete the generation and make it durable."""
        self._closed()
        try:
            for path in (self._path, self._shop.files.folder):
                _sync(path)
        except FileNotFoundError as error:
            raise self._lost() from error
        self._update("UPDATE generations SET stage = ? WHERE id = ?", (Stage.SEALED.value, self.id))

    def _closed(self) -> None:
        self._con.execute("COMMIT")
        self._con.close()

    def abandon(self) -> None:
        """Give the generation up; nothing remains of it, unless another builder finished and published it."""
        self._con.close()
        with self._shop.writer.transaction() as con:
            con.execute("DELETE FROM generations WHERE id = ? AND stage <> ?", (self.id, Stage.LIVE.value))
            kept = con.execute("SELECT 1 FROM generations WHERE id = ?", (self.id,)).fetchone()
        if kept is None:
            self._shop.files.remove(self.id)

    def _update(self, query: str, values: tuple[int | str, ...]) -> None:
        with self._shop.writer.transaction() as con:
            if con.execute(query, values).rowcount == 0:
                raise self._lost()

    def _lost(self) -> StoreError:
        return LeaseLost(
            f"store: generation {self.id} was removed, because its builder was silent for more than "
            f"{LEASE_US // 1_000_000} s\n  run the batch again"
        )


class SQLiteReplay(SQLiteBuilding):
    """A generation written step by step: its file also holds the cut that it reaches, saved together with its rows."""

    def __init__(
        self, shop: Shop, layout: Layout, names: Names, con: sqlite3.Connection, span: Span, sealed: bool = False
    ) -> None:
        super().__init__(shop, layout, names, con, span.end)
        self.done = span.start
        self._sealed = sealed

    def write(self, partial: pa.Table) -> None:
        """Merge a partial into the generation; the same key and pane may come again."""
        with self._there():
            super().write(partial)

    def save(self, done: Cut) -> None:
        """Keep what was written so far, together with the cut it reaches."""
        with self._there():
            self._con.execute("UPDATE saved SET done = ?", (done.to_json(),))
            self._con.execute("COMMIT")
        now = self._shop.clock()
        query = "UPDATE generations SET stage = ?, lease = ? WHERE id = ?"
        self._update(query, (Stage.SAVED.value, now + LEASE_US, self.id))
        self.done, self._renewed = done, now
        self._con.execute("BEGIN IMMEDIATE")

    def pause(self) -> None:
        """Let go of it: whoever resumes it goes on from what was saved."""
        self._con.close()

    def seal(self) -> None:
        """Complete the generation, unless the builder that left it had done that already."""
        if not self._sealed:
            super().seal()

    def _closed(self) -> None:
        """Readers open a generation as one plain file that never changes."""
        with self._there():
            self._con.execute("COMMIT")
            self._con.execute("PRAGMA journal_mode = DELETE").fetchall()
        self._con.close()

    @contextmanager
    def _there(self) -> Iterator[None]:
        """SQLite fails in several ways on a file that the collector has removed."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if self._path.exists():
                raise
            raise self._lost() from error


def begin(shop: Shop, layout: Layout, names: Names, cut: Cut, base: int | None) -> SQLiteBuilding:
    """A new generation: empty, or with the rows of its base."""
    path = shop.files.path(names[0])
    shop.files.remove(names[0])
    if base is not None:
        shutil.copyfile(shop.files.path(base), path)
    con = _connected(path, _BULK)
    con.execute("BEGIN")
    if base is None:
        _create(con, layout)
    return SQLiteBuilding(shop, layout, names, con, cut, base)


def begin_replay(shop: Shop, layout: Layout, names: Names, span: Span) -> SQLiteReplay:
    """A new generation that is written step by step."""
    shop.files.remove(names[0])
    con = _connected(shop.files.path(names[0]), _SAVING)
    con.execute("BEGIN IMMEDIATE")
    _create(con, layout)
    con.execute("CREATE TABLE saved (done TEXT NOT NULL, cut TEXT NOT NULL) STRICT")
    con.execute("INSERT INTO saved VALUES (?, ?)", (span.start.to_json(), span.end.to_json()))
    return SQLiteReplay(shop, layout, names, con, span)


def resume(shop: Shop, layout: Layout, names: Names, stage: Stage) -> SQLiteReplay | None:
    """What was saved of a generation; None while its builder lives, or when there is nothing left of it.

    One that was sealed, and only not published any more, is never written again: its builder might still publish it.
    """
    sealed = stage is Stage.SEALED
    con = connect(shop.files.path(names[0]), "?mode=ro&immutable=1" if sealed else "?mode=rw")
    try:
        if not sealed:
            _set(con, _SAVING)
            con.execute("BEGIN IMMEDIATE")
        done, cut = (Cut.from_json(text) for text in con.execute("SELECT done, cut FROM saved").fetchone())
        found = SQLiteReplay(shop, layout, names, con, rules.goes_on(done).span_to(cut), sealed)
        found.renew()
    except (sqlite3.DatabaseError, LeaseLost):
        con.close()
        return None
    return found


def _connected(path: Path, pragmas: Sequence[str]) -> sqlite3.Connection:
    con = connect(path)
    _set(con, pragmas)
    return con


def _set(con: sqlite3.Connection, pragmas: Sequence[str]) -> None:
    for pragma in pragmas:
        con.execute(f"PRAGMA {pragma}").fetchall()


def _create(con: sqlite3.Connection, layout: Layout) -> None:
    con.execute(rows.statements(rows.GENERATION, len(layout.keys), len(layout.states)).create)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
