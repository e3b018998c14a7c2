"""A log as Kafka keeps it, with all that makes cuts hard: markers, open transactions, retention, new partitions."""

from __future__ import annotations

from dataclasses import dataclass, field

from tarnbeck.cut import Cut
from tests.simulator import choices

EVENT, BROKEN, MARKER, PENDING = "E", "B", "M", "T"
TOPIC = "topic"
Event = tuple[int, int]
"""Partition and offset: all that an event is here."""


@dataclass
class Log:
    """The records of one topic by partition, each only a kind; `first` is where retention lets each one begin."""

    records: list[list[str]]
    first: list[int]
    plans: int = 0

    @classmethod
    def beginning_at(cls, offset: int) -> Log:
        """Two partitions; the first one has already lost its oldest records."""
        return cls([[EVENT] * offset, []], [offset, 0])

    def beginning(self) -> Cut:
        return Cut.of(TOPIC, dict(enumerate(self.first)))

    def end(self) -> Cut:
        return Cut.of(TOPIC, {p: choices.readable_end(records) for p, records in enumerate(self.records)})

    def high_watermark(self) -> Cut:
        return Cut.of(TOPIC, {p: len(records) for p, records in enumerate(self.records)})

    def plan(self, start: Cut, step: int) -> Cut:
        """Where the next micro-batch ends: not the same number of records each time."""
        self.plans += 1
        end = self.end()
        sizes = {p: step + 1 + (self.plans * 7 + p * 3) % 5 for p in range(len(self.records))}
        return Cut.of(TOPIC, {p: max(start[p], min(end[p], start[p] + size)) for p, size in sizes.items()})

    def lost(self, cut: Cut) -> bool:
        """Whether retention has passed the cut."""
        return not cut.covers(self.beginning())

    def read(self, start: Cut, end: Cut, kind: str = EVENT) -> list[Event]:
        """What a consumer gets: silently less, if retention has passed the start."""
        return [
            (p, offset)
            for p, records in enumerate(self.records)
            for offset in range(max(start[p], self.first[p]), end[p])
            if records[offset] == kind
        ]

    def truth(self, origin: Cut, end: Cut, kind: str = EVENT) -> list[Event]:
        """What there ever was between two cuts, whatever retention did."""
        return [
            (p, offset)
            for p, records in enumerate(self.records)
            for offset in range(origin[p], end[p])
            if records[offset] == kind
        ]

    def send(self, partition: int, kind: int) -> None:
        """Append a record, or end the partition's open transaction: committed or aborted, with a marker."""
        records = self.records[partition]
        if PENDING in records and kind % 7 == 0:
            became = EVENT if kind % 2 else MARKER
            self.records[partition] = [became if record == PENDING else record for record in records] + [MARKER]
        else:
            records.append("EEEBMMT"[kind % 7])

    def commit_pending(self) -> None:
        self.records = [[EVENT if record == PENDING else record for record in records] for records in self.records]

    def retain(self, partition: int, below: Cut, spare: int) -> None:
        """Delete what the lake already has, but for a few records."""
        keep = min(below[partition], len(self.records[partition])) - spare
        self.first[partition] = max(self.first[partition], keep)

    def add_partition(self) -> None:
        self.records.append([])
        self.first.append(0)


@dataclass
class Table:
    """A table of the lake: commits of rows, each with who wrote it and under which transaction version, or none."""

    commits: list[tuple[str, int | None, list[Event]]] = field(default_factory=list)

    def append(self, rows: list[Event], version: int, writer: str) -> None:
        writer = choices.numbered_by(writer)
        own = [found for name, found, _ in self.commits if name in (writer, "")]
        if choices.lands(version, choices.newest_version(own)):
            self.commits.append((writer, version, rows))

    def optimize(self) -> None:
        """Rewrite files: a commit that carries no version."""
        self.commits.append(("", None, []))

    def rows(self) -> list[Event]:
        return [row for _, _, rows in self.commits for row in rows]

    def read(self, start: Cut, end: Cut) -> list[Event]:
        return [(p, offset) for p, offset in self.rows() if start[p] <= offset < end[p]]
