"""The embedded store: one SQLite catalog with the epochs' rows, and a file for each generation."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from tarnbeck.cut import Cut
from tarnbeck.errors import StoreError, unknown
from tarnbeck.plan.layout import Layout
from tarnbeck.schema.types import Physical
from tarnbeck.store import alias, catalog, garbage, intents, publish, rows, rules
from tarnbeck.store.alerts import SQLiteAlerts
from tarnbeck.store.connection import Readers, Writer
from tarnbeck.store.generation import LEASE_US, Files, Shop, begin, begin_replay, resume
from tarnbeck.store.protocol import (
    HISTORY,
    LAKE,
    SPEED,
    Building,
    Collected,
    Committed,
    Contribution,
    Fenced,
    Published,
    Refused,
    Replay,
    Switched,
)
from tarnbeck.store.recent import Known, Recent
from tarnbeck.store.snapshot import SQLiteSnapshot, snapshot
from tarnbeck.store.state import Catalog, Feeder, HistoryFile, Intent, Stage, StreamState, Switch, VersionState


class SQLiteStore:
    """A store in a folder, for any number of threads and processes of one machine.

    Readers never block the writer, nor it them. Snapshots pin generations by holding their files open. `clock` gives
    UTC microseconds.
    """

    def __init__(self, folder: Path, clock: Callable[[], int]) -> None:
        self._files = Files(folder / "generations")
        self._files.folder.mkdir(parents=True, exist_ok=True)
        self._clock = clock
        path = folder / "catalog.db"
        self._writer = Writer(path)
        with self._writer.transaction() as con:
            catalog.create(con)
        self._shop = Shop(self._writer, self._files, clock)
        self._recent = Recent()
        self._readers = Readers(path, self._files.folder)
        self.alerts = SQLiteAlerts(self._writer, self._readers, clock)

    def close(self) -> None:
        self._readers.close()
        self._writer.close()

    def register_stream(self, name: str, definition: str, topic: str, origin: Cut, end: Cut) -> StreamState:
        """Record a stream; its origin only once. Refuses another topic id, and a log that ends below a stored cut."""
        with self._writer.transaction() as con:
            found = catalog.load(con)
            known = found.streams.get(name)
            if known is not None:
                _same_log(known, end, found)
            first = rules.origin_of(known.origin if known else None, origin)
            lake = known.lake_cut if known else first
            con.execute(
                "INSERT INTO streams VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
                "definition = excluded.definition, topic = excluded.topic, origin = excluded.origin",
                (name, definition, topic, first.to_json(), lake.to_json()),
            )
            return catalog.load(con).streams[name]

    def streams(self) -> Mapping[str, StreamState]:
        return self._readers.catalog().streams

    def versions(self) -> Mapping[int, VersionState]:
        return self._readers.catalog().versions

    def aliases(self) -> Mapping[str, int]:
        return self._readers.catalog().aliases

    def add_view(
        self, view: str, stream: str, definition: str, fingerprint: str, layout: Layout, feeder: Feeder = Feeder.LIVE
    ) -> VersionState:
        """Add a version of a view; the first one becomes its alias."""
        with self._writer.transaction() as con:
            found = catalog.load(con)
            origin = _stream(found, stream).origin
            cut = rules.start_of(origin, [version.cut for version in _fed(found, stream)], feeder)
            version = catalog.new_id(con, "version")
            forms = catalog.physicals_text(layout.keys), catalog.physicals_text(layout.states)
            con.execute(
                "INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL)",
                (version, view, stream, definition, fingerprint, *forms, feeder.value, cut.to_json()),
            )
            con.execute(rows.statements(rows.table_of(version), len(layout.keys), len(layout.states)).create)
            con.execute("INSERT INTO aliases VALUES (?, ?) ON CONFLICT DO NOTHING", (view, version))
            catalog.open_epoch(con, version, cut)
            return catalog.load(con).versions[version]

    def drop_version(self, version: int) -> None:
        """Drop a version that does not answer for its view."""
        with self._writer.transaction() as con:
            alias.drop_version(con, version)

    def drop_view(self, view: str) -> None:
        with self._writer.transaction() as con:
            alias.drop_view(con, view)

    def switch(
        self, targets: Mapping[str, int], expected: Mapping[str, int] | None = None, who: str = "", reason: str = ""
    ) -> Switched | Refused:
        """Let other versions answer, all of them or none, if `expected` versions still do; who and why is kept."""
        with self._writer.transaction() as con:
            return alias.switch(con, targets, expected or {}, (self._clock(), who, reason))

    def switches(self) -> Sequence[Switch]:
        """All switches there were, the oldest first."""
        with self._readers.reader() as reader:
            return alias.history(reader.con)

    def hand_over(self, version: int) -> bool:
        """Give a replayed version to the live query, unless it is behind."""
        with self._writer.transaction() as con:
            found = catalog.load(con)
            given = found.versions.get(version)
            if given is None:
                return False
            if given.feeder is Feeder.REPLAY:
                fed = [other.cut for other in _fed(found, given.stream)]
                if not rules.may_hand_over(given.cut, fed):
                    return False
                con.execute("UPDATE versions SET feeder = ? WHERE id = ?", (Feeder.LIVE.value, version))
            return True

    def hand_back(self, version: int) -> None:
        """Give a version to a replay writer."""
        with self._writer.transaction() as con:
            con.execute("UPDATE versions SET feeder = ? WHERE id = ?", (Feeder.REPLAY.value, version))

    def take_token(self, role: str) -> int:
        """Become the one writer of a role; all earlier ones are fenced."""
        with self._writer.transaction() as con:
            query = "INSERT INTO tokens VALUES (?, 1) ON CONFLICT DO UPDATE SET token = token + 1 RETURNING token"
            ((token,),) = con.execute(query, (role,)).fetchall()
            return int(token)

    def check_token(self, role: str, token: int) -> None:
        """Raise Fenced when another writer took over."""
        with self._readers.reader() as reader:
            _check_token(reader.con, role, token)

    def fed(self, stream: str | None = None) -> tuple[VersionState, ...]:
        """The versions that the live query feeds."""
        return _fed(self._readers.catalog(), stream)

    def commit(self, token: int | None, contributions: Sequence[Contribution]) -> Committed:
        """Merge a micro-batch and advance cuts, each version for itself; a replay writer has no token."""
        partials = [rows.from_arrow(given.partial, given.layout) for given in contributions]
        with self._writer.transaction(synced=False) as con:
            if token is not None:
                _check_token(con, SPEED, token)
            versions = catalog.load(con).versions
            found = [versions.get(given.version) for given in contributions]
            fits = rules.fitting(
                [
                    version is not None and not rules.moved(version.cut, given.start)
                    for version, given in zip(found, contributions, strict=True)
                ]
            )
            done = {}
            for version, given, partial, fit in zip(found, contributions, partials, fits, strict=True):
                if version is not None and fit and (known := self._take(con, version, given, partial)):
                    done[version.id] = known
        for taken, known in done.items():
            self._recent.keep(taken, known)
        gone = tuple(given.version for version, given in zip(found, contributions, strict=True) if version is None)
        refused = tuple(given.version for given in contributions if given.version not in {*done, *gone})
        return Committed(tuple(done), refused, gone)

    def _take(
        self, con: sqlite3.Connection, version: VersionState, given: Contribution, partial: rows.Partial
    ) -> Known | None:
        """Merge one contribution into the version's open epoch and advance its cut; None when no epoch is open."""
        _same_layout(version, given.layout)
        _moves(version, given, partial)
        epoch = rules.epoch_to_write(version)
        if epoch is None:
            return None
        known = self._recent.take(version, epoch)
        table = rows.table_of(version.id)
        rows.note_newest(con, table, epoch.id, partial)
        merged = rows.merge_into(con, table, epoch.id, given.layout, partial, known.states, known.all)
        cut = rules.advanced(version.cut, given.end)
        con.execute("UPDATE versions SET cut = ? WHERE id = ?", (cut.to_json(), version.id))
        known.states.update(merged)
        return Known(epoch.id, cut, known.states, known.all)

    def roll(self, version: int) -> Cut | None:
        """Close the open epoch at the view's cut and open the next; None when the version is gone."""
        with self._writer.transaction() as con:
            found = catalog.load(con).versions.get(version)
            if found is None:
                return None
            epoch = rules.open_epoch(found)
            if epoch is not None and rules.must_roll(epoch, found.cut):
                con.execute("UPDATE epochs SET stop = ? WHERE id = ?", (found.cut.to_json(), epoch.id))
                catalog.open_epoch(con, version, found.cut)
            return found.cut

    def begin_generation(self, version: int, layout: Layout, cut: Cut, base: int | None) -> Building | Refused:
        """Start writing a generation that ends at `cut`, empty or with the rows of its base."""
        with self._writer.transaction() as con:
            found = catalog.load(con).versions.get(version)
            if found is None:
                return Refused("gone")
            generation = self._entry(con, found, layout)
        try:
            return begin(self._shop, layout, (generation, version), cut, base)
        except FileNotFoundError:
            return Refused("base")

    def replay_generation(self, version: int, layout: Layout, cut: Cut) -> Replay | Refused:
        """The generation that was left unfinished, as far as it was saved; else a new one that ends at `cut`."""
        with self._writer.transaction() as con:
            found = catalog.load(con).versions.get(version)
            if found is None:
                return Refused("gone")
            query = "SELECT id, stage FROM generations WHERE version = ? AND stage IN (?, ?) ORDER BY id DESC"
            left = con.execute(query, (version, Stage.SAVED.value, Stage.SEALED.value)).fetchall()
        for generation, stage in left:
            resumed = resume(self._shop, layout, (generation, version), Stage(stage))
            if resumed is not None:
                return resumed
        with self._writer.transaction() as con:
            generation = self._entry(con, found, layout)
        return begin_replay(self._shop, layout, (generation, version), found.origin.span_to(cut))

    def _entry(self, con: sqlite3.Connection, version: VersionState, layout: Layout) -> int:
        """The catalog's entry of a new generation; its file is made after it."""
        _same_layout(version, layout)
        generation = catalog.new_id(con, "generation")
        con.execute(
            "INSERT INTO generations VALUES (?, ?, ?, ?)",
            (generation, version.id, Stage.BUILDING.value, self._clock() + LEASE_US),
        )
        return generation

    def publish(self, building: Building, leap: bool) -> Published | Refused:
        with self._writer.transaction() as con:
            return publish.publish(con, building, leap)

    def lake_cut(self, stream: str) -> Cut:
        return _stream(self._readers.catalog(), stream).lake_cut

    def open_intent(self, token: int, stream: str, start: Cut, end: Cut) -> Intent | None:
        """Record what the lake is about to hold; None when the lake's cut is another or an intent is still open."""
        with self._writer.transaction() as con:
            _check_token(con, HISTORY if start.log == end.log else LAKE, token)
            return intents.opened(con, _stream(catalog.load(con), stream), token, start, end)

    def close_intent(self, intent: Intent) -> bool:
        """Advance the lake's cut to the intent's end; False when someone else already closed it."""
        with self._writer.transaction() as con:
            return intents.closed(con, intent)

    def accept_hole(self, stream: str, end: Cut, reason: str, barred: int | None = None) -> Cut:
        """Let the lake go on at `end` and record what it misses; an open intent must be barred first."""
        with self._writer.transaction() as con:
            state = _stream(catalog.load(con), stream)
            return intents.accept_hole(con, state, end, barred, (reason, self._clock()))

    def history(self, stream: str) -> Sequence[HistoryFile]:
        """The files of a stream's history, in the order of their rows."""
        with self._readers.reader() as reader:
            return intents.files(reader.con, stream)

    def add_history(self, token: int, stream: str, file: HistoryFile) -> bool:
        """Give a file its place behind all others; False when another one has it."""
        with self._writer.transaction() as con:
            _check_token(con, HISTORY, token)
            return intents.add_file(con, stream, file)

    def follow_lake(self, stream: str, cut: Cut) -> None:
        """Take over how far the lake of a used stream is, which another application writes; it never goes back."""
        with self._writer.transaction() as con:
            lake = _stream(catalog.load(con), stream).lake_cut.advance(cut)
            con.execute("UPDATE streams SET lake = ? WHERE name = ?", (lake.to_json(), stream))

    def snapshot(
        self, views: Sequence[str] | None = None, versions: Mapping[str, int] | None = None
    ) -> AbstractContextManager[SQLiteSnapshot]:
        """One moment of the given views, or of all; `versions` are read in place of those that answer."""
        return snapshot(self._readers, views, versions or {})

    def collect(self) -> Collected:
        """Remove what nothing needs any more, in small steps."""
        return garbage.collect(self._writer, self._files, self._clock())

    def meta(self, key: str) -> str | None:
        with self._readers.reader() as reader:
            found = reader.con.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if found is None else str(found[0])

    def set_meta(self, key: str, value: str) -> None:
        with self._writer.transaction() as con:
            con.execute("REPLACE INTO meta VALUES (?, ?)", (key, value))


def _same_layout(version: VersionState, layout: Layout) -> None:
    if (version.keys, version.states) != (layout.keys, layout.states):
        raise StoreError(
            f"view '{version.view}': version {version.id} is laid out differently\n"
            f"  expected keys {_forms(version.keys)}, states {_forms(version.states)}\n"
            f"  found keys {_forms(layout.keys)}, states {_forms(layout.states)}"
        )


def _moves(version: VersionState, given: Contribution, partial: rows.Partial) -> None:
    """Rows without a span would be counted again with the next commit."""
    if partial.states and given.start.advance(given.end) == given.start:
        raise StoreError(
            f"view '{version.view}': a contribution has rows, but no events between {given.start} and {given.end}\n"
            "  this is a defect of the layer that sent it"
        )


def _forms(physicals: tuple[Physical, ...]) -> str:
    return f"({', '.join(physical.value for physical in physicals)})"


def _check_token(con: sqlite3.Connection, role: str, token: int) -> None:
    found = con.execute("SELECT token FROM tokens WHERE role = ?", (role,)).fetchone()
    if rules.fenced(found[0] if found else 0, token):
        raise Fenced(f"{role}: another writer took over; this one must end")


def _fed(found: Catalog, stream: str | None) -> tuple[VersionState, ...]:
    answering = set(found.aliases.values())
    return tuple(
        version
        for version in found.versions.values()
        if (stream is None or version.stream == stream) and rules.is_fed(version, version.id in answering)
    )


def _stream(found: Catalog, name: str) -> StreamState:
    if name not in found.streams:
        raise StoreError(unknown("store", "stream", name, found.streams, "the store"))
    return found.streams[name]


def _same_log(known: StreamState, end: Cut, found: Catalog) -> None:
    """Refuse a topic that was made anew, and a log that ends below what was already counted."""
    if known.origin.topic != end.topic:
        raise StoreError(
            f"stream '{known.name}': the topic is another one now\n  expected the topic with id {known.origin.topic}, "
            f"found {end.topic}\n  it was deleted and made again: use another folder, or bring the old topic back"
        )
    cuts = [version.cut for version in found.versions.values() if version.stream == known.name]
    for cut in (known.lake_cut, *cuts):
        if not end.covers(cut.log):
            raise StoreError(
                f"stream '{known.name}': the log ends at {end}, below what was already counted, {cut}\n"
                "  the log lost records: bring it back, or use another folder"
            )
