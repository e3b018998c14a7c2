"""The newest events of a topic, for people who look at it: read from the end back, in bounded work, memory and time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

from confluent_kafka import Consumer

from tarnbeck.cut import Cut, Span
from tarnbeck.errors import LogError
from tarnbeck.log import topics
from tarnbeck.log.events import Event, backwards
from tarnbeck.log.follow import PATIENCE, Record, consuming, read
from tarnbeck.log.settings import LogSettings

SPARING = {
    "fetch.message.max.bytes": 1 << 20,
    "fetch.max.bytes": 1 << 20,
    "queued.min.messages": 1,
    "queued.max.messages.kbytes": 1 << 10,
    "fetch.queue.backoff.ms": 5,
    "fetch.wait.max.ms": 20,
}
"""Of a client that reads little: it would fetch 64 MiB in advance, and wait for more where the log ends."""
TOGETHER = 8
"""Partitions that are read at the same time: the last record of each is taken, however large it is."""
GROWS, SHRINKS = 4, 8
"""How much longer a step back becomes while it finds nothing, and how much shorter when it held too much."""


@dataclass(frozen=True)
class Bounds:
    """How many events at the most, of how many bytes together, within how many seconds."""

    events: int
    bytes: int
    seconds: float


@dataclass(frozen=True)
class Found:
    """Events by their times, the newest last; how many of those asked for were left out; and the end of the log.

    Of what was not read, a record counts as one, however many events it packs.
    """

    events: list[Event]
    skipped: int
    end: Cut


def newest(settings: LogSettings, topic: str, after: Cut | None, bounds: Bounds) -> Found:
    """The newest events, those behind a cut if one is given."""
    stop = _in_time(settings, topic, bounds.seconds)
    first, end = topics.ends(settings, topic, bounds.seconds)
    known = first if after is None else Cut.of(end.topic, dict(after.offsets)).advance(first).meet(end)
    kept, low = _Kept(bounds), end
    if known != end:
        with consuming(settings, topic, SPARING) as consumer:
            low = _back(_Reader(consumer, topic, bounds, stop), known.span_to(end), kept)
    shown = list(islice(_fitting(kept.records, bounds.bytes), bounds.events))
    return Found(shown[::-1], known.span_to(low).records + kept.seen - len(shown), end)


def _in_time(settings: LogSettings, topic: str, seconds: float) -> Callable[[], bool]:
    """Never a reason to stop, but an error when time is up: a part of the answer would look like all of it."""
    deadline = time.monotonic() + seconds

    def stop() -> bool:
        if time.monotonic() > deadline:
            raise LogError(
                f"log: topic '{topic}' at {settings.bootstrap} was not read within {seconds:g} seconds\n"
                "  check that the broker runs there and is not overloaded, then ask again"
            )
        return False

    return stop


@dataclass(frozen=True)
class _Weighed:
    """A record, how many events it holds, and its bytes."""

    record: Record
    events: int
    size: int


def _weighed(record: Record) -> _Weighed:
    return _Weighed(record, backwards(record, 1)[0], len(record.value or b""))


def _age(each: _Weighed) -> tuple[datetime, int, int]:
    return each.record.timestamp, each.record.partition, each.record.offset


@dataclass
class _Kept:
    """The newest of the records that were read, the newest first, and no more of them than a reply can hold."""

    bounds: Bounds
    records: list[_Weighed] = field(default_factory=list)
    missing: int = 1
    seen: int = 0
    """Events of all records that were read."""
    oldest: datetime | None = None
    """The time of the record that fills the reply; none while there is room."""

    def add(self, new: list[_Weighed]) -> None:
        self.seen += sum(each.events for each in new)
        self.records = sorted([*self.records, *new], key=_age, reverse=True)
        self.missing, size = self.bounds.events, 0
        for place, each in enumerate(self.records, 1):
            self.missing, size = self.missing - each.events, size + each.size
            if self.missing <= 0 or size >= self.bounds.bytes:
                self.oldest = each.record.timestamp
                del self.records[place:]
                return


@dataclass
class _Side:
    """How one partition is read back: the length of the next step, and what was found so far."""

    step: int = 1
    careful: bool = False
    """Whether a step held too much: then what was found says little of what comes before."""
    records: int = 0
    events: int = 0
    size: int = 0
    oldest: datetime | None = None

    def goes_on(self, kept: _Kept) -> bool:
        """Whether something newer than what is kept may come before."""
        if self.events >= kept.bounds.events or self.size >= kept.bounds.bytes:
            return False
        return kept.oldest is None or self.oldest is None or self.oldest > kept.oldest

    def took(self, found: list[_Weighed], share: int, room: int) -> None:
        """Chooses the next step: for so many events by what records held so far, and never for more bytes than fit."""
        self.records += len(found)
        self.events += sum(each.events for each in found)
        self.size += sum(each.size for each in found)
        if not self.records:
            self.step *= GROWS
            return
        self.oldest = found[0].record.timestamp if found else self.oldest
        wanted = 0 if self.careful else -(-share * self.records // max(self.events, 1))
        fits = (room - self.size) * self.records // max(self.size, 1)
        self.step = max(1, min(max(wanted, 2 * self.step), fits))

    def shrink(self) -> None:
        self.step, self.careful = max(1, self.step // SHRINKS), True


@dataclass(frozen=True)
class _Reader:
    """Reads spans of a topic."""

    consumer: Consumer
    topic: str
    bounds: Bounds
    stop: Callable[[], bool]

    def all_of(self, span: Span) -> list[_Weighed] | None:
        """The records of a span; None if it has several of a partition and they are far more than a reply can hold."""
        wanted = {partition: span.start[partition] for partition, end in span.end if span.start[partition] != end}
        several = span.records > len(wanted)
        found: list[_Weighed] = []
        room = 2 * self.bounds.bytes
        for batch in read(self.consumer, self.topic, wanted, until=span.end, stop=self.stop, most=1, patience=PATIENCE):
            found += map(_weighed, batch)
            room -= found[-1].size
            if several and room < 0:
                return None
        return found


def _back(reader: _Reader, span: Span, kept: _Kept) -> Cut:
    """Reads a span from its end, step by step, until nothing before can be newer than what is kept; how far it came."""
    low, sides = span.end, {partition: _Side() for partition, _ in span.end}
    while True:
        left = [p for p, side in sides.items() if low[p] != span.start[p] and side.goes_on(kept)][:TOGETHER]
        if not left:
            return low
        steps = {p: offset - min(sides[p].step, offset) if p in left else offset for p, offset in low}
        begin = Cut.of(low.topic, steps).advance(span.start)
        found = reader.all_of(begin.span_to(low))
        if found is None:
            for partition in left:
                sides[partition].shrink()
            continue
        kept.add(found)
        share = -(-max(kept.missing, 1) // len(left))
        for partition in left:
            own = [each for each in found if each.record.partition == partition]
            sides[partition].took(own, share, reader.bounds.bytes)
        low = begin


def _fitting(records: Iterable[_Weighed], room: int) -> Iterator[Event]:
    """The events of records, the last one of each first, for as long as they fit."""
    for each in records:
        for event in backwards(each.record, room)[1]:
            room -= len(event.value or b"")
            if room < 0:
                return
            yield event
