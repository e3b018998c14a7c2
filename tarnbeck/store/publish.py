"""Publishing a generation in SQLite: the one transaction that swaps it in and lets go of what it covers."""

from __future__ import annotations

import sqlite3

from tarnbeck.store import catalog, rules
from tarnbeck.store.protocol import Building, Published, Refused
from tarnbeck.store.state import Epoch, Stage


def publish(con: sqlite3.Connection, building: Building, leap: bool) -> Published | Refused:
    """Swap a sealed generation in, inside the caller's transaction; only the catalog changes, no rows move."""
    version = catalog.load(con).versions.get(building.version)
    if version is None:
        return Refused("gone")
    if not rules.base_stands(building.base, version.generation.id if version.generation else None):
        return Refused("base")
    found = con.execute("SELECT stage FROM generations WHERE id = ?", (building.id,)).fetchone()
    if not rules.still_sealed(Stage(found[0]) if found else None):
        return Refused("removed")
    if leap and not rules.may_leap(version, building.cut):
        return Refused("leap")
    version = rules.lifted(version, building.cut)
    keep = None if leap else rules.kept(version, building.cut)
    if keep is not None and not rules.publishable(version, building.cut, keep):
        return Refused("chain")
    for epoch in version.epochs:
        if keep is None or epoch not in keep:
            drop_epoch(con, version.id, epoch.id)
        else:
            _note_epoch(con, epoch)
    cut = building.cut.to_json()
    con.execute("UPDATE generations SET stage = ? WHERE id = ?", (Stage.LIVE.value, building.id))
    con.execute(
        "UPDATE versions SET generation = ?, generation_cut = ? WHERE id = ?", (building.id, cut, building.version)
    )
    con.execute(
        "UPDATE versions SET cut = ? WHERE id = ?", (cut if keep is None else version.cut.to_json(), building.version)
    )
    if keep is None:
        catalog.open_epoch(con, building.version, building.cut)
    return Published(catalog.load(con).versions[building.version])


def _note_epoch(con: sqlite3.Connection, epoch: Epoch) -> None:
    """Its cuts may have got more of the history."""
    stop = None if epoch.end is None else epoch.end.to_json()
    con.execute("UPDATE epochs SET start = ?, stop = ? WHERE id = ?", (epoch.start.to_json(), stop, epoch.id))


def drop_epoch(con: sqlite3.Connection, version: int, epoch: int) -> None:
    """Unlink an epoch; the collector deletes its rows later, in small steps."""
    con.execute("DELETE FROM epochs WHERE id = ?", (epoch,))
    con.execute("REPLACE INTO garbage_epochs VALUES (?, ?)", (epoch, version))


def drop_version(con: sqlite3.Connection, version: int) -> None:
    """Unlink a version and its epochs; its table and generation are collected later."""
    con.execute("DELETE FROM versions WHERE id = ?", (version,))
    con.execute("DELETE FROM garbage_epochs WHERE version = ?", (version,))
    con.execute("REPLACE INTO garbage_versions VALUES (?)", (version,))
