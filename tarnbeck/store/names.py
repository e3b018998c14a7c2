"""The names in a catalog, read by SQLite alone: who completes a word at a prompt must not wait for a whole store."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from tarnbeck.store.connection import connect

STATEMENTS = {"views": "SELECT view FROM aliases ORDER BY view", "streams": "SELECT name FROM streams ORDER BY name"}


def names(store: Path, kind: str) -> list[str]:
    """What there is; nothing where no app has run yet."""
    catalog = store / "catalog.db"
    if not catalog.exists():
        return []
    with closing(connect(catalog, "?mode=ro")) as con:
        return [name for (name,) in con.execute(STATEMENTS[kind])]
