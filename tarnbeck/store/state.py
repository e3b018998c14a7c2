"""What a store knows of streams, versions, generations and epochs, as plain data that rules decide on."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from tarnbeck.cut import Cut
from tarnbeck.schema.types import Physical


class Feeder(enum.Enum):
    """Who moves a version's cut: the one live query, or a replay writer of its own."""

    LIVE = "live"
    REPLAY = "replay"


class Stage(enum.Enum):
    """How far a generation is: being written under a lease, complete but not published, or answering."""

    BUILDING = "building"
    SAVED = "saved"
    SEALED = "sealed"
    LIVE = "live"


@dataclass(frozen=True)
class Epoch:
    """A partial over a span after a generation's cut; without an end it is the open one, up to the view's cut."""

    id: int
    start: Cut
    end: Cut | None

    @property
    def open(self) -> bool:
        return self.end is None


@dataclass(frozen=True)
class Generation:
    """A version's complete partial from the origin up to a cut."""

    id: int
    cut: Cut


@dataclass(frozen=True)
class VersionState:
    """One definition of a view and how far it is; `cut` is the end of its open epoch."""

    id: int
    view: str
    stream: str
    definition: str
    hash: str
    keys: tuple[Physical, ...]
    states: tuple[Physical, ...]
    feeder: Feeder
    origin: Cut
    cut: Cut
    generation: Generation | None
    epochs: tuple[Epoch, ...]


@dataclass(frozen=True)
class Intent:
    """A span that the lake is about to hold; its id is the version of the lake tables' own transaction marker."""

    id: int
    stream: str
    token: int
    start: Cut
    end: Cut

    @property
    def of_history(self) -> bool:
        """Whether it brings rows of files; every other one brings records of the log."""
        return self.start.log == self.end.log


@dataclass(frozen=True)
class Hole:
    """A span that retention took before the lake had it, accepted by a person."""

    stream: str
    start: Cut
    end: Cut
    reason: str
    accepted: int


@dataclass(frozen=True)
class StreamState:
    """A stream as it was registered, its one origin, and how far its lake is."""

    name: str
    definition: str
    topic: str
    origin: Cut
    lake_cut: Cut
    intent: Intent | None
    holes: tuple[Hole, ...]
    loading: Intent | None = None
    """The intent of whoever loads files, beside that of whoever mirrors the log."""


@dataclass(frozen=True)
class HistoryFile:
    """A file whose rows are, or are about to be, the history of a stream from `first` on."""

    name: str
    bytes: int
    modified: int
    digest: str
    first: int
    rows: int

    @property
    def end(self) -> int:
        return self.first + self.rows


@dataclass(frozen=True)
class Switch:
    """A view's answers went from one version to another; views that switched together share the id."""

    id: int
    view: str
    before: int
    after: int
    at: int
    who: str
    reason: str


@dataclass(frozen=True)
class AlertState:
    """A key for which the condition of a rule holds: pending or firing, since when, and how often it was told of.

    `keys` and `facts` are JSON: which key it is, and what was found of it when its state last changed.
    """

    rule: str
    keys: str
    state: str
    since: int
    told: int | None
    times: int
    facts: str


@dataclass(frozen=True)
class AlertRule:
    """A rule as it is declared now, and what stands in the way of looking after it."""

    rule: str
    definition: str
    error: str | None


@dataclass(frozen=True)
class Delivery:
    """What became of one notice at one destination: waiting, sent, or failed for good."""

    notice: int
    destination: str
    state: str
    tries: int
    at: int | None
    error: str | None


@dataclass(frozen=True)
class Notice:
    """Something that was told of a rule, or is to be; `body` is JSON, ids grow."""

    id: int
    rule: str
    state: str
    at: int
    body: str
    deliveries: tuple[Delivery, ...] = ()


@dataclass(frozen=True)
class Catalog:
    """Everything but the rows, as of one moment."""

    streams: Mapping[str, StreamState]
    versions: Mapping[int, VersionState]
    aliases: Mapping[str, int]
