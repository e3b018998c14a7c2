"""Reading from SQLite: alias, generations, epochs and cuts of one moment, held still until the reader is done."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from tarnbeck.algebra.state import Raw
from tarnbeck.errors import StoreError, unknown
from tarnbeck.store import rows
from tarnbeck.store.connection import Reader, Readers
from tarnbeck.store.protocol import Row
from tarnbeck.store.state import Catalog, VersionState

_TRIES = 20


class SQLiteSnapshot:
    """One read transaction on the catalog, with the files of the generations it names held open."""

    def __init__(self, reader: Reader, versions: Mapping[str, VersionState]) -> None:
        self._reader = reader
        self._cursors: list[sqlite3.Cursor] = []
        self.versions = versions

    def parts(
        self,
        view: str,
        *,
        level: int = 0,
        key: tuple[Raw, ...] = (),
        where: Mapping[int, Raw] | None = None,
        start: int | None = None,
        end: int | None = None,
        last_first: bool = False,
        below: tuple[Raw, ...] = (),
    ) -> list[Iterator[Row]]:
        """The rows of the generation, then of each epoch, not merged."""
        if view not in self.versions:
            raise StoreError(unknown("store", "view", view, self.versions, "this snapshot"))
        version = self.versions[view]
        shape = rows.Shape(version.keys, version.states)
        places = [(self._reader.con, rows.table_of(version.id), epoch.id) for epoch in version.epochs]
        if version.generation:
            places.insert(0, (self._reader.generation(version.generation.id), rows.GENERATION, rows.WHOLE))
        if last_first:
            cursors = [rows.backwards(con, table, part, shape, level, key, below) for con, table, part in places]
        else:
            cursors = [
                rows.select(con, table, part, shape, level, key, where or {}, (start, end))
                for con, table, part in places
            ]
        self._cursors += cursors
        return [rows.fetch(cursor, shape, rows.FEW if last_first else rows.BLOCK) for cursor in cursors]

    def newest(self, view: str, epoch: int | None) -> int | None:
        """The newest pane of the first level in an epoch, or in the generation."""
        version = self.versions[view]
        if epoch is not None:
            return rows.newest_of_epoch(self._reader.con, rows.table_of(version.id), epoch)
        if version.generation is None:
            return None
        return rows.newest(self._reader.generation(version.generation.id), rows.GENERATION, rows.WHOLE)

    def close(self) -> None:
        """An unfinished cursor would hold the old moment open under the next snapshot's feet."""
        for cursor in self._cursors:
            cursor.close()


@contextmanager
def snapshot(readers: Readers, views: Sequence[str] | None, instead: Mapping[str, int]) -> Iterator[SQLiteSnapshot]:
    """A snapshot of the given views, or of all of them; `instead` names versions other than those that answer."""
    with readers.reader() as reader:
        found = SQLiteSnapshot(reader, _pinned(reader, views, instead))
        try:
            yield found
        finally:
            found.close()
            reader.end()


def _pinned(reader: Reader, views: Sequence[str] | None, instead: Mapping[str, int]) -> Mapping[str, VersionState]:
    """The versions of one moment whose generations are open.

    A generation can be removed between the moment and the opening of its file. Then a newer one was published, so
    another moment is taken. Once open, a file stays readable even when it is removed.
    """
    missing: sqlite3.Error | None = None
    for _ in range(_TRIES):
        versions = _chosen(reader.begin(), views, instead)
        try:
            for version in versions.values():
                if version.generation:
                    reader.generation(version.generation.id)
        except sqlite3.OperationalError as error:
            reader.end()
            missing = error
        else:
            return versions
    raise StoreError(
        f"store: the file of a published generation can't be opened ({missing})\n"
        "  if it was deleted by hand, build the view anew: tarnbeck batch --full"
    )


def _chosen(found: Catalog, views: Sequence[str] | None, instead: Mapping[str, int]) -> Mapping[str, VersionState]:
    chosen = {**found.aliases, **instead}
    names = chosen if views is None else views
    for name in names:
        if name not in chosen:
            raise StoreError(unknown("store", "view", name, found.aliases, "the store"))
        version = found.versions.get(chosen[name])
        if version is None or version.view != name:
            raise StoreError(f"store: view '{name}' has no version {chosen[name]}\n  it was dropped meanwhile")
    return {name: found.versions[chosen[name]] for name in names}
