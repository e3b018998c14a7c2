"""One simulated deployment: a real store, a simulated log and lake, and what must be true of every answer."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from tarnbeck.algebra.state import Raw
from tarnbeck.cut import HISTORY, Cut
from tarnbeck.errors import StoreError
from tarnbeck.plan.layout import Layout
from tarnbeck.schema.types import Physical
from tarnbeck.store import rules
from tarnbeck.store.protocol import Row, Snapshot
from tarnbeck.store.sqlite import SQLiteStore
from tarnbeck.store.state import StreamState, VersionState
from tests.simulator import choices
from tests.simulator.log import BROKEN, Event, Log, Table

STREAM = "events"


class Violation(Exception):
    """An answer was wrong, or never came; the text before the colon is the kind."""

    @property
    def kind(self) -> str:
        return str(self).split(":")[0]


def _add(left: tuple[Raw, ...], right: tuple[Raw, ...]) -> tuple[Raw, ...]:
    return (int(left[0] or 0) + int(right[0] or 0),)


LAYOUT = Layout((Physical.INT, Physical.INT, Physical.INT), (Physical.INT,), _add)
"""A view that counts each event by its own name and by the definition that counted it."""


def partial(events: list[Event], definition: str) -> pa.Table:
    size = len(events)
    columns = [
        [p for p, _ in events],
        [o for _, o in events],
        [int(definition)] * size,
        [0] * size,
        [0] * size,
        [1] * size,
    ]
    return pa.Table.from_arrays([pa.array(column, pa.int64()) for column in columns], schema=LAYOUT.arrow)


@dataclass
class World:
    """Everything there is in one history. `kappa`: no batch layer. `faulty`: some batches lose an event. `quiet`: the
    settling at the end, without limits. `history`: rows of files that there are to load."""

    kappa: bool
    log: Log
    store: SQLiteStore
    clock: list[int]
    quiet: bool = False
    faulty: bool = False
    events: Table = field(default_factory=Table)
    quarantine: Table = field(default_factory=Table)
    history: int = 0
    checkpoint: choices.Position = (None, None)
    births: int = 0
    incarnations: dict[str, int] = field(default_factory=dict)
    deploys: dict[int, tuple[int, int]] = field(default_factory=dict)
    seen: dict[tuple[str, int], Cut] = field(default_factory=dict)
    faults: dict[int, int] = field(default_factory=dict)
    repaired: set[tuple[int, int]] = field(default_factory=set)
    happened: Counter[str] = field(default_factory=Counter)
    origin: Cut = field(init=False)

    @classmethod
    def made(cls, folder: Path, kappa: bool, first: int) -> World:
        clock = [0]
        world = cls(kappa, Log.beginning_at(first), SQLiteStore(folder, lambda: clock[0]), clock)
        world.origin = world.log.beginning()
        world.register(choices.origin(world.log))
        return world

    def register(self, origin: Cut) -> None:
        """What every start of the application does."""
        self.store.register_stream(STREAM, "{}", "topic", origin, self.log.high_watermark())

    def stream(self) -> StreamState:
        return self.store.streams()[STREAM]

    def lake_cut(self) -> Cut:
        return self.store.lake_cut(STREAM)

    def plan(self, start: Cut) -> Cut:
        return self.log.plan(start, 99 if self.quiet else 0)

    def drop(self, version: int) -> None:
        """Drop a version, unless it answers."""
        answers = version in self.store.aliases().values()
        try:
            self.store.drop_version(version)
        except StoreError:
            if not answers:
                raise
        except sqlite3.IntegrityError as error:
            raise Violation(f"dropped: version {version} answers, and was to go: {error}") from error

    def read_all(self) -> None:
        """One query over all views."""
        for _ in self.query():
            pass

    def query(self) -> Iterator[None]:
        """A query that may be interrupted while it holds its snapshot."""
        try:
            with self.store.snapshot() as snapshot:
                for name, version in snapshot.versions.items():
                    self.check_progress(name, version)
                    self.check_repairs(version)
                self.check_deploy(snapshot.versions)
                yield
                for name, version in snapshot.versions.items():
                    if rules.answerable(version):
                        self.check_rows(version, rows_of(snapshot, name))
                    yield
        except StoreError as error:
            raise Violation(f"broken: {error}") from error

    def check_progress(self, name: str, version: VersionState) -> None:
        """A view that answered once answers for ever, and never goes back."""
        key = name, self.incarnations[name]
        if any(epoch.end == epoch.start for epoch in version.epochs):
            raise Violation(f"empty epoch: view {name} has {version.epochs}")
        if not rules.answerable(version):
            if version.generation is not None or key in self.seen:
                raise Violation(f"unanswerable: view {name} was answering, and is not any more")
            return
        if key in self.seen and not version.cut.covers(self.seen[key]):
            raise Violation(f"went back: view {name} from {self.seen[key]} to {version.cut}")
        self.seen[key] = version.cut

    def _fault(self, version: VersionState) -> int | None:
        return self.faults.get(version.generation.id) if version.generation else None

    def check_repairs(self, version: VersionState) -> None:
        """What a full batch repaired stays repaired; judged when the snapshot is taken, for a paused query is older."""
        fault = self._fault(version)
        if fault is not None and (version.id, fault) in self.repaired:
            raise Violation(f"undone: a repaired fault is back in version {version.id}")

    def check_rows(self, version: VersionState, rows: list[Row]) -> None:
        """Every event below the cut counts once, by the version's own definition, and nothing else does."""
        if self._fault(version) is not None:
            return
        found: Counter[Row] = Counter()
        for row in rows:
            found[row[:3]] += int(row[-1] or 0)
        below = [*self.log.truth(self.origin, version.cut), *files(version.cut)]
        wanted: Counter[Row] = Counter((p, o, int(version.definition)) for p, o in below)
        if found != wanted:
            missing, extra = wanted - found, found - wanted
            kind = "wrong" if missing and extra else "lost" if missing else "double"
            raise Violation(f"{kind}: at {version.cut} missing {list(missing)}, too many {list(extra)}")

    def check_deploy(self, versions: Mapping[str, VersionState]) -> None:
        """One query never sees a deploy of two views half switched."""
        groups = {self.deploys.get(version.id, (0, 1)) for version in versions.values()}
        if len(groups) == 2 and all(size == 2 for _, size in groups):
            raise Violation(f"mix: one query sees deploys {groups}")

    def check_settled(self) -> None:
        """Everything arrived everywhere, also in versions that do not answer yet."""
        for version in self.store.versions().values():
            self.check_repairs(version)
            with self.store.snapshot([version.view], {version.view: version.id}) as snapshot:
                self.check_rows(version, rows_of(snapshot, version.view))
        wanted = self.log.truth(self.origin, self.log.end(), BROKEN)
        if sorted(self.quarantine.rows()) != wanted:
            raise Violation(f"quarantine: has {sorted(self.quarantine.rows())}, sent were {wanted}")

    def settled(self) -> bool:
        end = self.log.end().with_history(self.history)
        return self.lake_cut().covers(end) and all(
            version.cut.covers(end) and rules.answerable(version) for version in self.store.versions().values()
        )


def files(end: Cut, start: Cut | None = None) -> list[Event]:
    """The rows of files between two cuts."""
    return [(HISTORY, row) for row in range(start.history if start else 0, end.history)]


def rows_of(snapshot: Snapshot, view: str) -> list[Row]:
    return [row for part in snapshot.parts(view) for row in part]
