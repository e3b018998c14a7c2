"""Generations in SQLite: each a file of its own, written under a lease, so that loading one never blocks commits."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from tarnbeck.cut import Cut
from tarnbeck.errors import StoreError
from tarnbeck.plan.layout import Layout
from tarnbeck.store import rows
from tarnbeck.store.connection import Writer, connect
from tarnbeck.store.protocol import LeaseLost
from tarnbeck.store.state import Stage

LEASE_US = 120_000_000
"""How long a builder may be silent; it renews the lease after a third of that."""
_PRAGMAS = ("journal_mode = OFF", "synchronous = OFF", "locking_mode = EXCLUSIVE", "cache_size = -65536")


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
        self.path(generation).unlink(missing_ok=True)


class SQLiteBuilding:
    """One generation being written; it belongs to whoever holds this object, until its lease runs out."""

    def __init__(
        self,
        writer: Writer,
        files: Files,
        clock: Callable[[], int],
        layout: Layout,
        generation: int,
        version: int,
        cut: Cut,
        base: int | None,
    ) -> None:
        self.id, self.version, self.cut, self.base = generation, version, cut, base
        self._writer, self._files, self._clock, self._layout = writer, files, clock, layout
        self._renewed = clock()
        path = files.path(generation)
        path.unlink(missing_ok=True)
        if base is not None:
            shutil.copyfile(files.path(base), path)
        self._con = connect(path)
        # Nobody reads the file before it is sealed, and one that a crash left behind is thrown away.
        for pragma in _PRAGMAS:
            self._con.execute(f"PRAGMA {pragma}").fetchall()
        self._con.execute("BEGIN")
        if base is None:
            self._con.execute(rows.statements(rows.GENERATION, len(layout.keys), len(layout.states)).create)

    def write(self, partial: pa.Table) -> None:
        """Merge a partial into the generation; the same key and pane may come again."""
        if self._clock() - self._renewed > LEASE_US // 3:
            self.renew()
        merged = rows.from_arrow(partial, self._layout)
        rows.merge_into(self._con, rows.GENERATION, rows.WHOLE, self._layout, merged)

    def trim(self, level: int, before: int) -> None:
        """Leave out the panes of a level that start before this, those of the base too."""
        query = f"DELETE FROM {rows.GENERATION} WHERE part = ? AND level = ? AND pane < ?"  # noqa: S608
        self._con.execute(query, (rows.WHOLE, level, before))

    def renew(self) -> None:
        """Prolong the lease; raises LeaseLost when it is too late."""
        now = self._clock()
        self._update("UPDATE generations SET lease = ? WHERE id = ?", (now + LEASE_US, self.id))
        self._renewed = now

    def seal(self) -> None:
        """Complete the generation and make it durable."""
        self._con.execute("COMMIT")
        self._con.close()
        try:
            for path in (self._files.path(self.id), self._files.folder):
                _sync(path)
        except FileNotFoundError as error:
            raise self._lost() from error
        self._update("UPDATE generations SET stage = ? WHERE id = ?", (Stage.SEALED.value, self.id))

    def abandon(self) -> None:
        """Give the generation up; nothing remains of it."""
        self._con.close()
        with self._writer.transaction() as con:
            con.execute("DELETE FROM generations WHERE id = ? AND stage <> ?", (self.id, Stage.LIVE.value))
        self._files.remove(self.id)

    def _update(self, query: str, values: tuple[int | str, ...]) -> None:
        with self._writer.transaction() as con:
            if con.execute(query, values).rowcount == 0:
                raise self._lost()

    def _lost(self) -> StoreError:
        return LeaseLost(
            f"store: generation {self.id} was removed, because its builder was silent for more than "
            f"{LEASE_US // 1_000_000} s\n  run the batch again"
        )


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
