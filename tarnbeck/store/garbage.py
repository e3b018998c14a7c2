"""Removing what nothing needs any more from SQLite, in steps so small that no commit waits long for them."""

from __future__ import annotations

import sqlite3

from tarnbeck.store import catalog, rows, rules
from tarnbeck.store.connection import Writer
from tarnbeck.store.generation import Files
from tarnbeck.store.protocol import Collected
from tarnbeck.store.state import Stage

STEP = 5_000
"""Rows deleted by one transaction."""


def collect(writer: Writer, files: Files, now: int) -> Collected:
    """One round: generations, then rows of dropped epochs, then tables of dropped versions."""
    generations = _generations(writer, files, now)
    deleted = versions = 0
    with writer.transaction() as con:
        epochs = con.execute("SELECT version, epoch FROM garbage_epochs").fetchall()
        gone = con.execute("SELECT version FROM garbage_versions").fetchall()
    for version, epoch in epochs:
        deleted += _empty(writer, version, epoch)
    for (version,) in gone:
        deleted += _empty(writer, version, None)
        versions += 1
    return Collected(generations, deleted, versions)


def _generations(writer: Writer, files: Files, now: int) -> int:
    """Forget generations that no version names and no lease protects; then remove every file that has no entry.

    The entry of a new generation is written before its file, and the files are listed before the entries, so a file
    without an entry is never one that is being made. The forgetting is on disk before a file goes.
    """
    present = files.ids()
    with writer.transaction() as con:
        unnamed = con.execute(
            "SELECT id, version, stage, lease FROM generations WHERE id NOT IN "
            "(SELECT generation FROM versions WHERE generation IS NOT NULL)"
        ).fetchall()
        versions = catalog.load(con).versions
        for generation, version, text, lease in unnamed:
            stage = Stage(text)
            given_up = rules.lease_over(lease, now) and not rules.unfinished(stage, versions.get(version))
            if stage is Stage.LIVE or given_up:
                con.execute("DELETE FROM generations WHERE id = ?", (generation,))
        known = {found for (found,) in con.execute("SELECT id FROM generations")}
    for generation in present - known:
        files.remove(generation)
    return len(present - known)


def _empty(writer: Writer, version: int, epoch: int | None) -> int:
    """Delete the rows of an epoch, or all rows and then the table of a version."""
    total = 0
    while True:
        with writer.transaction() as con:
            if not _is_garbage(con, version, epoch):
                return total
            deleted = _step(con, rows.table_of(version), epoch)
            total += deleted
            if deleted < STEP:
                _done(con, version, epoch)
                return total


def _is_garbage(con: sqlite3.Connection, version: int, epoch: int | None) -> bool:
    """Another process may collect at the same time, and a version may be dropped between two steps."""
    if epoch is None:
        found = con.execute("SELECT 1 FROM garbage_versions WHERE version = ?", (version,))
    else:
        found = con.execute("SELECT 1 FROM garbage_epochs WHERE epoch = ?", (epoch,))
    return found.fetchone() is not None


def _step(con: sqlite3.Connection, table: str, epoch: int | None) -> int:
    places = f"SELECT part, level, key, pane FROM {table}"  # noqa: S608
    if epoch is not None:
        places += f" WHERE part = {epoch:d}"
    return con.execute(
        f"DELETE FROM {table} WHERE (part, level, key, pane) IN ({places} LIMIT {STEP})"  # noqa: S608
    ).rowcount


def _done(con: sqlite3.Connection, version: int, epoch: int | None) -> None:
    if epoch is None:
        con.execute(f"DROP TABLE {rows.table_of(version)}")
        con.execute("DELETE FROM garbage_versions WHERE version = ?", (version,))
    else:
        con.execute("DELETE FROM garbage_epochs WHERE epoch = ?", (epoch,))
