"""The catalog of another application: found, read, and never written."""

from __future__ import annotations

import functools
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from tarnbeck.app import App
from tarnbeck.cut import Cut
from tarnbeck.errors import DeclarationError, StoreError, unknown
from tarnbeck.schema.stream import Owner, Stream
from tarnbeck.store import catalog
from tarnbeck.store.connection import BUSY_MS, connect

APPS = "TARNBECK_APPS"
"""The environment variable that lists folders with applications in them."""
APP, ROOT, GROWING = "app", "lake", "growing"
"""Small facts that an application tells others: its name, where its lake is unless it is in its folder, and the
stream that grows just now."""


@dataclass(frozen=True)
class Foreign:
    """A used stream as the catalog of its owner has it now."""

    stream: Stream
    origin: Cut
    lake_cut: Cut
    growing: bool


def find(app: str, base: Path) -> Path:
    """The data folder of an application: below the folders that TARNBECK_APPS lists, else near `base`."""
    places = [Path(place) for place in os.environ.get(APPS, "").split(os.pathsep) if place]
    near = [folder for place in (*places, base.parent) for folder in (place / app / ".tarnbeck", place / app)]
    looked = [folder.absolute() for folder in (*near, base / ".tarnbeck")]
    for folder in looked:
        if app_of(folder) == app:
            return folder
    raise DeclarationError(
        f"app '{app}': no data folder of it found\n  looked in:\n"
        + "\n".join(f"    {folder}" for folder in looked)
        + f'\n  start it once (tarnbeck up), or say where its folder is: folder="…", or in {APPS} the folder above it'
    )


def app_of(folder: Path) -> str | None:
    """The application whose data a folder holds."""
    if not _path(folder).is_file():
        return None
    with _reading(folder) as con:
        return _facts(con).get(APP)


def owned(name: str, app: str, stream: str, folder: Path) -> Foreign:
    """A stream of the application in a folder, by the name that it is used under."""
    if not _path(folder).is_file():
        raise StoreError(
            f"stream '{name}' of app '{app}': no app has run in {folder}\n  start it there: tarnbeck up APP.py"
        )
    with _reading(folder) as con:
        facts = _facts(con)
        rows = {row[0]: row[1:] for row in con.execute("SELECT name, definition, origin, lake FROM streams")}
    if facts.get(APP) != app:
        raise StoreError(f"stream '{name}': {folder} holds app '{facts.get(APP)}', not app '{app}'")
    if stream not in rows:
        raise DeclarationError(unknown(f"stream '{name}'", "stream", stream, rows, f"app '{app}'"))
    definition, origin, lake = rows[stream]
    owner = Owner(app, stream, str(folder), facts.get(ROOT) or str(folder / "lake"))
    used = _used(definition, name, owner)
    return Foreign(used, catalog.cut_of(origin), catalog.cut_of(lake), facts.get(GROWING) == stream)


def now(stream: Stream) -> Foreign:
    """What the owner's catalog says of a used stream."""
    owner = stream.owner
    assert owner is not None  # noqa: S101 (asked for used streams only)
    return owned(stream.name, owner.app, owner.stream, Path(owner.folder))


def unchanged(stream: Stream) -> bool:
    """Whether a stream has the form that its owner reads by; one of this application always has.

    Records that were in the log before this was asked may be read by it: an owner says that a stream grows before it
    settles where the new form begins.
    """
    if stream.owner is None:
        return True
    found = now(stream)
    return not found.growing and found.stream == stream


def changed(stream: Stream) -> StoreError:
    """What to say while the form that was taken over is not the owner's."""
    assert stream.owner is not None  # noqa: S101 (one of this application has no other form)
    return StoreError(
        f"stream '{stream.name}': app '{stream.owner.app}' has changed it; nothing is read until that is taken over\n"
        "  a running node does so by itself; what stands in the way is told by: tarnbeck status"
    )


@functools.lru_cache(maxsize=1024)
def _used(definition: str, name: str, owner: Owner) -> Stream:
    found = json.loads(definition)
    if "owner" in found:
        real = Owner(**found["owner"])
        raise DeclarationError(
            f"stream '{name}': app '{owner.app}' only uses it, it belongs to app '{real.app}'\n"
            f'  use it from there: app.use("{real.app}/{real.stream}")'
        )
    for theirs in ("derived", "history"):
        # Who writes the stream derives it, and loads its files.
        found.pop(theirs, None)
    return App("catalog").stream_of({**found, "name": name, "create": False, "owner": asdict(owner)})


def _path(folder: Path) -> Path:
    return folder / "store" / "catalog.db"


def _facts(con: sqlite3.Connection) -> dict[str, str]:
    found: dict[str, str] = dict(con.execute("SELECT key, value FROM meta").fetchall())
    if int(found["format"]) > catalog.FORMAT:
        raise StoreError(
            f"another app's store: its format is {found['format']}, this tarnbeck knows {catalog.FORMAT}\n"
            "  use the tarnbeck that made it here, too"
        )
    return found


@contextmanager
def _reading(folder: Path) -> Iterator[sqlite3.Connection]:
    """One moment of a catalog; SQLite itself refuses whatever would write."""
    try:
        con = connect(_path(folder), "?mode=ro")
        try:
            con.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
            con.execute("BEGIN")
            yield con
        finally:
            con.close()
    except sqlite3.Error as error:
        raise StoreError(
            f"the catalog of the app in {folder} can't be read: {error}\n  expected a folder of a tarnbeck app"
        ) from error
