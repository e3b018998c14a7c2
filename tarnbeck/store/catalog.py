"""The catalog in SQLite: its tables, and reading them into plain data."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from functools import lru_cache

from tarnbeck.cut import Cut
from tarnbeck.errors import StoreError
from tarnbeck.schema.types import Physical
from tarnbeck.store import rules
from tarnbeck.store.state import Catalog, Epoch, Feeder, Generation, Hole, Intent, StreamState, VersionState

FORMAT = 4
"""What the tables look like; a store of a newer format is refused."""

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE ids (kind TEXT PRIMARY KEY, highest INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE tokens (role TEXT PRIMARY KEY, token INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE streams (
    name TEXT PRIMARY KEY, definition TEXT NOT NULL, topic TEXT NOT NULL, origin TEXT NOT NULL, lake TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE intents (
    id INTEGER PRIMARY KEY, stream TEXT NOT NULL UNIQUE REFERENCES streams (name), token INTEGER NOT NULL,
    start TEXT NOT NULL, stop TEXT NOT NULL
) STRICT;
CREATE TABLE holes (
    stream TEXT NOT NULL REFERENCES streams (name), start TEXT NOT NULL, stop TEXT NOT NULL, reason TEXT NOT NULL,
    accepted INTEGER NOT NULL
) STRICT;
CREATE TABLE versions (
    id INTEGER PRIMARY KEY, view TEXT NOT NULL, stream TEXT NOT NULL REFERENCES streams (name),
    definition TEXT NOT NULL, hash TEXT NOT NULL, keys TEXT NOT NULL, states TEXT NOT NULL, feeder TEXT NOT NULL,
    cut TEXT NOT NULL, generation INTEGER, generation_cut TEXT
) STRICT;
CREATE TABLE aliases (
    view TEXT PRIMARY KEY, version INTEGER NOT NULL REFERENCES versions (id)
) STRICT, WITHOUT ROWID;
CREATE TABLE epochs (
    id INTEGER PRIMARY KEY, version INTEGER NOT NULL REFERENCES versions (id) ON DELETE CASCADE, start TEXT NOT NULL,
    stop TEXT
) STRICT;
CREATE INDEX epochs_of_version ON epochs (version);
CREATE TABLE generations (
    id INTEGER PRIMARY KEY, version INTEGER NOT NULL, stage TEXT NOT NULL, lease INTEGER NOT NULL
) STRICT;
CREATE TABLE garbage_epochs (
    epoch INTEGER PRIMARY KEY, version INTEGER NOT NULL
) STRICT;
CREATE TABLE garbage_versions (version INTEGER PRIMARY KEY) STRICT;
"""

_SECOND = """
ALTER TABLE epochs ADD COLUMN newest INTEGER;
CREATE TABLE switches (
    id INTEGER NOT NULL, view TEXT NOT NULL, before INTEGER NOT NULL, after INTEGER NOT NULL, moment INTEGER NOT NULL,
    who TEXT NOT NULL, reason TEXT NOT NULL, PRIMARY KEY (id, view)
) STRICT, WITHOUT ROWID;
"""
_THIRD = """
CREATE TABLE loads (
    id INTEGER PRIMARY KEY, stream TEXT NOT NULL UNIQUE REFERENCES streams (name), token INTEGER NOT NULL,
    start TEXT NOT NULL, stop TEXT NOT NULL
) STRICT;
CREATE TABLE history (
    stream TEXT NOT NULL REFERENCES streams (name), first INTEGER NOT NULL, rows INTEGER NOT NULL, name TEXT NOT NULL,
    bytes INTEGER NOT NULL, modified INTEGER NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (stream, name)
) STRICT, WITHOUT ROWID;
"""
_FOURTH = """
CREATE TABLE alert_rules (rule TEXT PRIMARY KEY, definition TEXT NOT NULL, error TEXT) STRICT, WITHOUT ROWID;
CREATE TABLE alert_states (
    rule TEXT NOT NULL REFERENCES alert_rules (rule) ON DELETE CASCADE, keys TEXT NOT NULL, state TEXT NOT NULL,
    since INTEGER NOT NULL, told INTEGER, times INTEGER NOT NULL, facts TEXT NOT NULL, PRIMARY KEY (rule, keys)
) STRICT, WITHOUT ROWID;
CREATE TABLE notices (
    id INTEGER PRIMARY KEY, rule TEXT NOT NULL, state TEXT NOT NULL, moment INTEGER NOT NULL, body TEXT NOT NULL
) STRICT;
CREATE TABLE deliveries (
    notice INTEGER NOT NULL REFERENCES notices (id) ON DELETE CASCADE, destination TEXT NOT NULL,
    state TEXT NOT NULL, tries INTEGER NOT NULL, moment INTEGER, error TEXT, PRIMARY KEY (notice, destination)
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_waiting ON deliveries (destination, notice) WHERE state = 'waiting';
CREATE TABLE delivery_totals (
    destination TEXT NOT NULL, outcome TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (destination, outcome)
) STRICT, WITHOUT ROWID;
"""
_STEPS = {1: _SECOND, 2: _THIRD, 3: _FOURTH}
"""By format: what brings a store to the next one."""

_HIGHEST = {
    "version": "SELECT max(id) FROM versions",
    "epoch": "SELECT max(id) FROM epochs",
    "generation": "SELECT max(id) FROM generations",
    "intent": "SELECT max(id) FROM (SELECT id FROM intents UNION ALL SELECT id FROM loads)",
    "switch": "SELECT max(id) FROM switches",
    "notice": "SELECT max(id) FROM notices",
}


def create(con: sqlite3.Connection) -> None:
    """Make the tables of a new store, bring those of an older tarnbeck forward, refuse those of a newer one."""
    if con.execute("SELECT 1 FROM sqlite_schema WHERE name = 'meta'").fetchone() is None:
        _run(con, TABLES)
        con.execute("INSERT INTO meta VALUES ('format', '1')")
    (text,) = con.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
    found = int(text)
    if found > FORMAT:
        raise StoreError(
            f"store: its format is {found}, this tarnbeck knows {FORMAT}\n"
            "  use the tarnbeck that made it, or another folder (the log and the lake can fill a new one)"
        )
    for step in range(found, FORMAT):
        _run(con, _STEPS[step])
    if found < FORMAT:
        con.execute("UPDATE meta SET value = ? WHERE key = 'format'", (str(FORMAT),))


def _run(con: sqlite3.Connection, statements: str) -> None:
    """One by one: a script would end the transaction."""
    for statement in statements.split(";\n"):
        if statement.strip():
            con.execute(statement)


def new_id(con: sqlite3.Connection, kind: str) -> int:
    """The next id of a kind, by the rule that none is used twice."""
    (present,) = con.execute(_HIGHEST[kind]).fetchone()
    ever = con.execute("SELECT highest FROM ids WHERE kind = ?", (kind,)).fetchone()
    found = rules.fresh_id(ever[0] if ever else 0, present or 0)
    con.execute("REPLACE INTO ids VALUES (?, ?)", (kind, found))
    return found


@lru_cache(maxsize=4096)
def cut_of(text: str) -> Cut:
    return Cut.from_json(text)


@lru_cache(maxsize=1024)
def physicals_of(text: str) -> tuple[Physical, ...]:
    return tuple(Physical[name] for name in text.split())


def physicals_text(physicals: tuple[Physical, ...]) -> str:
    return " ".join(physical.name for physical in physicals)


def load(con: sqlite3.Connection) -> Catalog:
    """All of the catalog as the connection's transaction sees it."""
    streams = _streams(con)
    epochs: dict[int, list[Epoch]] = defaultdict(list)
    for epoch, version, start, stop in con.execute("SELECT id, version, start, stop FROM epochs ORDER BY id"):
        epochs[version].append(Epoch(epoch, cut_of(start), None if stop is None else cut_of(stop)))
    versions = {
        row[0]: VersionState(
            id=row[0],
            view=row[1],
            stream=row[2],
            definition=row[3],
            hash=row[4],
            keys=physicals_of(row[5]),
            states=physicals_of(row[6]),
            feeder=Feeder(row[7]),
            origin=streams[row[2]].origin,
            cut=cut_of(row[8]),
            generation=None if row[9] is None else Generation(row[9], cut_of(row[10])),
            epochs=tuple(epochs[row[0]]),
        )
        for row in con.execute(
            "SELECT id, view, stream, definition, hash, keys, states, feeder, cut, generation, generation_cut "
            "FROM versions ORDER BY id"
        )
    }
    return Catalog(streams, versions, dict(con.execute("SELECT view, version FROM aliases ORDER BY view").fetchall()))


def _intents(con: sqlite3.Connection, table: str) -> dict[str, Intent]:
    return {
        row[1]: Intent(row[0], row[1], row[2], cut_of(row[3]), cut_of(row[4]))
        for row in con.execute(f"SELECT id, stream, token, start, stop FROM {table}")  # noqa: S608 (a name of ours)
    }


def _streams(con: sqlite3.Connection) -> dict[str, StreamState]:
    intents, loads = _intents(con, "intents"), _intents(con, "loads")
    holes: dict[str, list[Hole]] = defaultdict(list)
    for row in con.execute("SELECT stream, start, stop, reason, accepted FROM holes ORDER BY rowid"):
        holes[row[0]].append(Hole(row[0], cut_of(row[1]), cut_of(row[2]), row[3], row[4]))
    return {
        row[0]: StreamState(
            name=row[0],
            definition=row[1],
            topic=row[2],
            origin=cut_of(row[3]),
            lake_cut=cut_of(row[4]),
            intent=intents.get(row[0]),
            holes=tuple(holes[row[0]]),
            loading=loads.get(row[0]),
        )
        for row in con.execute("SELECT name, definition, topic, origin, lake FROM streams")
    }


def open_epoch(con: sqlite3.Connection, version: int, start: Cut) -> None:
    con.execute(
        "INSERT INTO epochs (id, version, start) VALUES (?, ?, ?)", (new_id(con, "epoch"), version, start.to_json())
    )
