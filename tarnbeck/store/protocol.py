"""The contract that every store keeps: what layers may ask of it, and the data they speak in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

import pyarrow as pa

from tarnbeck.algebra.state import Raw
from tarnbeck.cut import Cut
from tarnbeck.errors import StoreError
from tarnbeck.plan.layout import Layout
from tarnbeck.store.state import (
    AlertRule,
    AlertState,
    Feeder,
    HistoryFile,
    Intent,
    Notice,
    StreamState,
    Switch,
    VersionState,
)

Row = tuple[Raw, ...]
"""The keys, level, pane and states of one row, raw."""

Reason = Literal["gone", "base", "removed", "leap", "chain", "behind", "building", "alias"]

SPEED = "speed"
"""The role whose token a speed commit carries."""
LAKE = "lake"
"""The role whose token an intent carries that mirrors the log."""
HISTORY = "history"
"""The role whose token an intent carries that loads files."""

LOADED = "loaded "
"""Before a stream's name: the key of how many rows of files it had when all were loaded, among the small facts."""


class Fenced(StoreError):
    """Another writer took over this role; the one that gets this error must end, and not be started again by itself."""


class LeaseLost(StoreError):
    """The generation being built was removed because its lease ran out."""


@dataclass(frozen=True)
class Contribution:
    """One version's share of a micro-batch: the partial of its events from `start` (its own cut) up to `end`."""

    version: int
    start: Cut
    end: Cut
    layout: Layout
    partial: pa.Table


@dataclass(frozen=True)
class Committed:
    """Which versions took their contribution, which had moved, and which no longer exist."""

    done: tuple[int, ...]
    refused: tuple[int, ...]
    gone: tuple[int, ...]


@dataclass(frozen=True)
class Refused:
    """A transaction that changed nothing, and why."""

    reason: Reason
    subject: str = ""


@dataclass(frozen=True)
class Published:
    """The version as it is after its generation was published."""

    version: VersionState


@dataclass(frozen=True)
class Switched:
    """The version that answers for each view after a switch."""

    aliases: Mapping[str, int]


@dataclass(frozen=True)
class Collected:
    """What the garbage collection removed."""

    generations: int
    rows: int
    versions: int


class Building(Protocol):
    """A generation being written, under a lease that writing renews."""

    @property
    def id(self) -> int: ...
    @property
    def version(self) -> int: ...
    @property
    def cut(self) -> Cut: ...
    @property
    def base(self) -> int | None: ...

    def write(self, partial: pa.Table) -> None:
        """Merge a partial into the generation; the same key and pane may come again."""

    def trim(self, level: int, before: int) -> None:
        """Leave out the panes of a level that start before this, those of the base too."""

    def renew(self) -> None:
        """Prolong the lease; raises LeaseLost when it is too late."""

    def seal(self) -> None:
        """Complete the generation and make it durable."""

    def abandon(self) -> None:
        """Give the generation up; nothing remains of it."""


class Replay(Building, Protocol):
    """A generation written step by step, which outlives its builder as far as it was saved."""

    @property
    def done(self) -> Cut:
        """Up to where its rows are saved; the origin at first."""

    def save(self, done: Cut) -> None:
        """Keep what was written so far, together with the cut it reaches."""

    def pause(self) -> None:
        """Let go of it: whoever resumes it goes on from what was saved."""


class Snapshot(Protocol):
    """Alias, generations, epochs and cuts of one moment; what they name stays readable until it is closed."""

    @property
    def versions(self) -> Mapping[str, VersionState]: ...

    def parts(
        self,
        view: str,
        *,
        level: int = 0,
        key: tuple[Raw, ...] = (),
        where: Mapping[int, Raw] | None = None,
        start: int | None = None,
        end: int | None = None,
        last_first: bool = False,
        below: tuple[Raw, ...] = (),
    ) -> list[Iterator[Row]]:
        """The rows of the generation, then of each epoch, not merged: panes from `start` up to, not with, `end`.

        `key` is all keys or the first of them; `where` compares single keys by their place. With `last_first` rows come
        from the last key to the first, as they are asked for, and only those whose next keys are below `below`.
        """

    def newest(self, view: str, epoch: int | None) -> int | None:
        """The newest pane of the first level in an epoch, or, without one, in the generation; None when it is empty."""


@dataclass(frozen=True)
class Told:
    """A notice that is to be told to these destinations; `body` makes its JSON from the id that it gets."""

    rule: str
    state: str
    body: Callable[[int], str]
    to: tuple[str, ...]


class AlertBook(Protocol):
    """What is known of alerts: their rules, for which keys they hold, and what was told to whom."""

    def declare(self, rules: Mapping[str, str], destinations: Collection[str]) -> None:
        """Takes over the rules and destinations that are declared now.

        What was known of other rules is forgotten, and what waits for other destinations has failed.
        """

    def rules(self) -> Sequence[AlertRule]: ...
    def note(self, rule: str, error: str | None) -> None:
        """Keeps what stands in the way of a rule, or that nothing does."""

    def states(self) -> Sequence[AlertState]:
        """All keys that are pending or firing, by rule and keys."""

    def change(
        self, changed: Sequence[AlertState], over: Sequence[tuple[str, str]], told: Sequence[Told]
    ) -> Mapping[str, int]:
        """Changes states, ends those `over` (rule and keys), and lets notices wait for delivery, all or nothing.

        Only the newest notices are kept: of each destination, how many went that were still waiting.
        """

    def notices(self, most: int) -> Sequence[Notice]:
        """The newest notices, the newest first, with what became of each."""

    def waiting(self, destination: str, most: int) -> Sequence[Notice]:
        """What is still to be told to a destination, the oldest first."""

    def tried(self, notice: int, destination: str, error: str | None, *, over: bool) -> None:
        """Keeps the outcome of one more try: it worked when there is no error; when it is `over`, it was the last."""

    def totals(self) -> Mapping[tuple[str, str], int]:
        """How often each outcome was met, by destination and outcome: sent, retried, failed, dropped."""


class Store(Protocol):
    """Absolute states and the catalog; every method is one transaction."""

    @property
    def alerts(self) -> AlertBook: ...

    def register_stream(self, name: str, definition: str, topic: str, origin: Cut, end: Cut) -> StreamState:
        """Record a stream; its origin only once. Refuses another topic id, and a log that ends below a stored cut."""

    def streams(self) -> Mapping[str, StreamState]: ...

    def add_view(
        self, view: str, stream: str, definition: str, fingerprint: str, layout: Layout, feeder: Feeder = Feeder.LIVE
    ) -> VersionState:
        """Add a version of a view; the first one becomes its alias."""

    def versions(self) -> Mapping[int, VersionState]: ...
    def aliases(self) -> Mapping[str, int]: ...
    def drop_version(self, version: int) -> None:
        """Drop a version that does not answer for its view."""

    def drop_view(self, view: str) -> None: ...
    def switch(
        self, targets: Mapping[str, int], expected: Mapping[str, int] | None = None, who: str = "", reason: str = ""
    ) -> Switched | Refused:
        """Let other versions answer, all of them or none, if `expected` versions still do; who and why is kept."""

    def switches(self) -> Sequence[Switch]:
        """All switches there were, the oldest first."""

    def hand_over(self, version: int) -> bool:
        """Give a replayed version to the live query, unless it is behind."""

    def hand_back(self, version: int) -> None:
        """Give a version to a replay writer."""

    def take_token(self, role: str) -> int:
        """Become the one writer of a role; all earlier ones are fenced."""

    def check_token(self, role: str, token: int) -> None:
        """Raise Fenced when another writer took over."""

    def fed(self, stream: str | None = None) -> tuple[VersionState, ...]:
        """The versions that the live query feeds."""

    def commit(self, token: int | None, contributions: Sequence[Contribution]) -> Committed:
        """Merge a micro-batch and advance cuts, each version for itself; a replay writer has no token."""

    def roll(self, version: int) -> Cut | None:
        """Close the open epoch at the view's cut and open the next; None when the version is gone."""

    def begin_generation(self, version: int, layout: Layout, cut: Cut, base: int | None) -> Building | Refused:
        """Start writing a generation that ends at `cut`, empty or with the rows of its base."""

    def replay_generation(self, version: int, layout: Layout, cut: Cut) -> Replay | Refused:
        """The generation that was left unfinished, as far as it was saved; else a new one that ends at `cut`."""

    def publish(self, building: Building, leap: bool) -> Published | Refused: ...
    def lake_cut(self, stream: str) -> Cut: ...
    def open_intent(self, token: int, stream: str, start: Cut, end: Cut) -> Intent | None:
        """Record what the lake is about to hold; None when the lake's cut is another or an intent is still open.

        It is either a span of the log or rows of files, and compared with that part of the lake's cut only.
        """

    def close_intent(self, intent: Intent) -> bool:
        """Advance the lake's cut to the intent's end; False when someone else already closed it."""

    def accept_hole(self, stream: str, end: Cut, reason: str, barred: int | None = None) -> Cut:
        """Let the lake go on at `end` and record what it misses.

        An open intent must be barred first: an empty lake commit with its id, so that no late writer can land it.
        """

    def history(self, stream: str) -> Sequence[HistoryFile]:
        """The files of a stream's history, in the order of their rows."""

    def add_history(self, token: int, stream: str, file: HistoryFile) -> bool:
        """Give a file its place behind all others; False when another one has it."""

    def follow_lake(self, stream: str, cut: Cut) -> None:
        """Take over how far the lake of a used stream is, which another application writes; it never goes back."""

    def snapshot(
        self, views: Sequence[str] | None = None, versions: Mapping[str, int] | None = None
    ) -> AbstractContextManager[Snapshot]:
        """One moment of the given views, or of all; `versions` are read in place of those that answer."""

    def collect(self) -> Collected:
        """Remove what nothing needs any more, in small steps."""

    def meta(self, key: str) -> str | None: ...
    def set_meta(self, key: str, value: str) -> None: ...
    def close(self) -> None: ...
