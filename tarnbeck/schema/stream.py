"""A stream as it was declared: what its events look like, when they happened, and which topic holds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tarnbeck.cut import Cut
from tarnbeck.schema.types import Schema

Unit = Literal["s", "ms", "us", "ns"]


@dataclass(frozen=True)
class FromColumn:
    """Event time is a timestamp column; `zone` says what a text without a zone means (else it is quarantined)."""

    column: str
    zone: str | None = None


@dataclass(frozen=True)
class Epoch:
    """Event time is a number of units since 1970 in a column."""

    column: str
    unit: Unit


@dataclass(frozen=True)
class Arrival:
    """Event time is the Kafka record's own timestamp."""


EventTime = FromColumn | Epoch | Arrival


@dataclass(frozen=True)
class Json:
    """Each record's value is one JSON object."""


TEXTS = (".csv", ".json", ".jsonl", ".ndjson")
FILES = (".parquet", *(f"{name}{packed}" for name in TEXTS for packed in ("", ".gz")))
"""How the names of files end that can hold a stream's history."""


@dataclass(frozen=True)
class Former:
    """What a stream's columns were for the events below a cut."""

    schema: Schema
    until: Cut


@dataclass(frozen=True)
class Join:
    """The row of a table that an event is joined with: the one that was true at the event's time.

    Of its changes those count that the log had received no more than `wait` microseconds after the event itself. `on`
    are the table's keys, each with an expression over the event; `definition` is how the table was declared, or, where
    it is static, its rows.
    """

    table: str
    definition: str
    on: tuple[tuple[str, str], ...]
    wait: int
    static: bool = False


@dataclass(frozen=True)
class Changes:
    """The table whose changes a stream tells, and how it was declared."""

    table: str
    definition: str


@dataclass(frozen=True)
class Derivation:
    """How the events of a stream are made of another's: those that pass, with these columns.

    `late` lets only those pass that were received more than so many microseconds after their time.
    """

    source: str
    where: str | None
    select: tuple[tuple[str, str], ...]
    late: int | None = None
    join: Join | None = None
    changes: Changes | None = None


@dataclass(frozen=True)
class Owner:
    """The application that a used stream belongs to: its name for the stream, its data folder, the root of its lake."""

    app: str
    stream: str
    folder: str
    lake: str


@dataclass(frozen=True)
class Stream:
    """One declared stream: data only."""

    name: str
    schema: Schema
    time: EventTime
    key: str | None
    topic: str
    format: Json
    partitions: int
    create: bool
    derived: Derivation | None = None
    former: tuple[Former, ...] = ()
    """Forms it had before, the oldest first: an event is read as its stream was when it came."""
    history: tuple[str, ...] = ()
    """Names of files with older events, `*` allowed, relative to the file that declares the stream."""
    owner: Owner | None = None
    """Who writes its topic and its lake, if it is another application: here they are only read."""
