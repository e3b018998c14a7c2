"""The lake's progress in SQLite: intents of who mirrors the log and of who loads files, holes, and the files."""

from __future__ import annotations

import sqlite3

from tarnbeck.cut import Cut
from tarnbeck.errors import StoreError
from tarnbeck.store import catalog, rules
from tarnbeck.store.state import HistoryFile, Intent, StreamState


def opened(con: sqlite3.Connection, state: StreamState, token: int, start: Cut, end: Cut) -> Intent | None:
    """Record what the lake is about to hold; None when it is not at `start`, or an intent of this kind is open."""
    intent = Intent(catalog.new_id(con, "intent"), state.name, token, start, end)
    if intent.of_history:
        fits = rules.may_open(_rows(state.lake_cut), _rows(start), state.loading)
    else:
        fits = rules.may_open(state.lake_cut.log, start.log, state.intent)
    if not fits:
        return None
    con.execute(
        f"REPLACE INTO {_table(intent)} VALUES (?, ?, ?, ?, ?)",  # noqa: S608 (a name of ours)
        (intent.id, state.name, token, start.to_json(), end.to_json()),
    )
    return intent


def closed(con: sqlite3.Connection, intent: Intent) -> bool:
    """Add what an intent brought to the lake's cut; False when someone else already did."""
    deleted = con.execute(f"DELETE FROM {_table(intent)} WHERE id = ?", (intent.id,))  # noqa: S608 (a name of ours)
    if deleted.rowcount == 0:
        return False
    lake = rules.landed(catalog.load(con).streams[intent.stream].lake_cut, intent.end)
    con.execute("UPDATE streams SET lake = ? WHERE name = ?", (lake.to_json(), intent.stream))
    return True


def _rows(cut: Cut) -> Cut:
    return Cut(cut.topic).with_history(cut.history)


def _table(intent: Intent) -> str:
    return "loads" if intent.of_history else "intents"


def accept_hole(con: sqlite3.Connection, state: StreamState, end: Cut, barred: int | None, why: tuple[str, int]) -> Cut:
    """Let the lake go on at `end` and record what it misses, with the reason and the moment."""
    if state.intent is not None and state.intent.id != barred:
        raise StoreError(
            f"stream '{state.name}': intent {state.intent.id} of the lake is still open\n"
            "  let the lake writer finish or bar it before the hole is accepted"
        )
    con.execute("DELETE FROM intents WHERE stream = ?", (state.name,))
    cut = state.lake_cut.advance(end)
    con.execute("INSERT INTO holes VALUES (?, ?, ?, ?, ?)", (state.name, state.lake_cut.to_json(), cut.to_json(), *why))
    con.execute("UPDATE streams SET lake = ? WHERE name = ?", (cut.to_json(), state.name))
    return cut


def files(con: sqlite3.Connection, stream: str) -> tuple[HistoryFile, ...]:
    """The files of a stream's history, in the order of their rows."""
    query = "SELECT name, bytes, modified, digest, first, rows FROM history WHERE stream = ? ORDER BY first, name"
    return tuple(HistoryFile(*row) for row in con.execute(query, (stream,)))


def add_file(con: sqlite3.Connection, stream: str, file: HistoryFile) -> bool:
    """Give a file its place behind all others; False when another one has it."""
    (end,) = con.execute("SELECT coalesce(max(first + rows), 0) FROM history WHERE stream = ?", (stream,)).fetchone()
    if end != file.first:
        return False
    con.execute(
        "INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?)",
        (stream, file.first, file.rows, file.name, file.bytes, file.modified, file.digest),
    )
    return True
