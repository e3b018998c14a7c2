"""Which version answers for a view, in SQLite: switching, the history of it, and dropping what does not answer."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from tarnbeck.errors import StoreError, unknown
from tarnbeck.store import catalog, publish, rules
from tarnbeck.store.protocol import Refused, Switched
from tarnbeck.store.state import Catalog, Switch


def switch(
    con: sqlite3.Connection, targets: Mapping[str, int], expected: Mapping[str, int], note: tuple[int, str, str]
) -> Switched | Refused:
    """Move all aliases or none, inside the caller's transaction; `note` is when, who and why."""
    found = catalog.load(con)
    for view, target in targets.items():
        refused = _refused(found, view, target, expected.get(view))
        if refused is not None:
            return refused
    moved = {view: target for view, target in targets.items() if found.aliases[view] != target}
    if moved:
        number = catalog.new_id(con, "switch")
        for view, target in moved.items():
            con.execute("UPDATE aliases SET version = ? WHERE view = ?", (target, view))
            con.execute(
                "INSERT INTO switches VALUES (?, ?, ?, ?, ?, ?, ?)", (number, view, found.aliases[view], target, *note)
            )
    return Switched({**found.aliases, **targets})


def _refused(found: Catalog, view: str, target: int, expected: int | None) -> Refused | None:
    version, live = found.versions.get(target), found.aliases.get(view)
    if version is None or version.view != view or live is None:
        return Refused("gone", view)
    if not rules.undisturbed(live, expected):
        return Refused("alias", view)
    if not rules.may_switch(version, found.versions[live]):
        return Refused("behind" if rules.answerable(version) else "building", view)
    return None


def history(con: sqlite3.Connection) -> list[Switch]:
    query = "SELECT id, view, before, after, moment, who, reason FROM switches ORDER BY id, view"
    return [Switch(*row) for row in con.execute(query)]


def drop_version(con: sqlite3.Connection, version: int) -> None:
    """Drop a version that does not answer for its view."""
    found = catalog.load(con)
    if version not in found.versions:
        raise StoreError(
            f"store: there is no version {version}\n  it has: {', '.join(map(str, found.versions)) or 'none'}"
        )
    view = found.versions[version].view
    if not rules.may_drop(version, found.aliases.get(view)):
        raise StoreError(
            f"store: version {version} answers for view '{view}' and can't be dropped\n"
            "  switch to another version first, or drop the view"
        )
    publish.drop_version(con, version)


def drop_view(con: sqlite3.Connection, view: str) -> None:
    """Drop a view with all its versions."""
    found = catalog.load(con)
    if view not in found.aliases:
        raise StoreError(unknown("store", "view", view, found.aliases, "the store"))
    con.execute("DELETE FROM aliases WHERE view = ?", (view,))
    for version in found.versions.values():
        if version.view == view:
            publish.drop_version(con, version.id)
