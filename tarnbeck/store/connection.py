"""Connections to one SQLite catalog: one that writes, several that read, and how transactions begin and end."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tarnbeck.errors import StoreError
from tarnbeck.store import catalog
from tarnbeck.store.state import Catalog

BUSY_MS = 30_000
_CACHE_KIB = 64 * 1024
_WAL_LIMIT = 64 * 1024 * 1024


def connect(path: Path, options: str = "") -> sqlite3.Connection:
    """A connection without Python's own transaction handling, usable from any one thread at a time."""
    return sqlite3.connect(
        path.absolute().as_uri() + options,
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )


def connect_catalog(path: Path) -> sqlite3.Connection:
    con = connect(path)
    con.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
    con.execute("PRAGMA journal_mode = WAL")
    con.execute("PRAGMA foreign_keys = ON")
    con.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    con.execute(f"PRAGMA journal_size_limit = {_WAL_LIMIT}")
    return con


class Writer:
    """The connection that all writing threads of this process share, one after another.

    A commit survives the end of the process as soon as it returns. Only speed commits do without a sync to disk:
    losing power takes their states and cuts back together, and the log is read again from there. All else is synced,
    because something outside follows from it: a lake commit, a removed file, a log that is allowed to shrink.
    """

    def __init__(self, path: Path) -> None:
        self._con = connect_catalog(path)
        self._lock = threading.RLock()
        self._synced: bool | None = None

    @contextmanager
    def transaction(self, synced: bool = True) -> Iterator[sqlite3.Connection]:
        """All or nothing; other writers wait."""
        with self._lock:
            if synced is not self._synced:
                self._con.execute(f"PRAGMA synchronous = {'FULL' if synced else 'NORMAL'}")
                self._synced = synced
            try:
                self._con.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                raise StoreError(
                    f"store: another process kept the store locked for {BUSY_MS // 1000} s ({error})\n"
                    "  see which tarnbeck processes use this folder, and end the one that hangs"
                ) from error
            try:
                yield self._con
            except BaseException:
                self._con.execute("ROLLBACK")
                raise
            self._con.execute("COMMIT")

    def close(self) -> None:
        with self._lock:
            self._con.close()


class Reader:
    """One connection for reading, with the generations it has open and the catalog as it last saw it."""

    def __init__(self, path: Path, generations: Path) -> None:
        self.con = connect_catalog(path)
        self._folder = generations
        self._files: dict[int, sqlite3.Connection] = {}
        self._seen: tuple[int, Catalog] | None = None

    def begin(self) -> Catalog:
        """Start a read transaction; the catalog is read again only if someone wrote since."""
        self.con.execute("BEGIN")
        moment = self._moment()
        if self._seen is None or self._seen[0] != moment:
            found = catalog.load(self.con)
            self._seen = (moment, found)
            self._forget(found)
        return self._seen[1]

    def _moment(self) -> int:
        """A number that changes when another connection has written."""
        (moment,) = self.con.execute("PRAGMA data_version").fetchone()
        return int(moment)

    def catalog(self) -> Catalog:
        """The catalog of this moment."""
        if self._seen is not None and self._seen[0] == self._moment():
            return self._seen[1]
        found = self.begin()
        self.end()
        return found

    def end(self) -> None:
        self.con.execute("COMMIT")

    def generation(self, generation: int) -> sqlite3.Connection:
        """A generation's file, kept open: an open file stays readable when it is removed."""
        found = self._files.get(generation)
        if found is None:
            found = connect(self._folder / f"{generation:d}.db", "?mode=ro&immutable=1")
            self._files[generation] = found
        return found

    def _forget(self, found: Catalog) -> None:
        """Let go of generations that nothing names any more, so that their space comes back."""
        named = {version.generation.id for version in found.versions.values() if version.generation}
        for generation in self._files.keys() - named:
            self._files.pop(generation).close()

    def close(self) -> None:
        for con in (*self._files.values(), self.con):
            con.close()


class Readers:
    """The readers of one process: each is used by one snapshot at a time, the last one given back first."""

    def __init__(self, path: Path, generations: Path) -> None:
        self._path, self._generations = path, generations
        self._idle: list[Reader] = []
        self._lock = threading.Lock()
        self._closed = False

    def take(self) -> Reader:
        with self._lock:
            if self._closed:
                raise StoreError("store: it was closed and can't be read any more")
            if self._idle:
                return self._idle.pop()
        return Reader(self._path, self._generations)

    def give(self, reader: Reader) -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(reader)
                return
        reader.close()

    def catalog(self) -> Catalog:
        """The catalog of this moment."""
        with self.reader() as reader:
            return reader.catalog()

    @contextmanager
    def reader(self) -> Iterator[Reader]:
        """One that is idle; after a failure it is not used again, for it may be in the middle of anything."""
        reader = self.take()
        try:
            yield reader
        except BaseException:
            reader.close()
            raise
        self.give(reader)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for reader in idle:
            reader.close()
