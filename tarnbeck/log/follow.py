"""Reads a topic from a place on, as it grows or up to a cut, without a consumer group."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

import pyarrow as pa
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from tarnbeck.cut import Cut
from tarnbeck.errors import LogError, UsageError
from tarnbeck.log import topics
from tarnbeck.log.client import Reasons, failure
from tarnbeck.log.settings import LogSettings
from tarnbeck.schema.decoded import RECORDS
from tarnbeck.schema.packs import HEADER, opened
from tarnbeck.schema.strict import Reject

SOURCE = "tarnbeck-source"
"""The header that tells how far the source of a derived stream had been read."""
FETCH = 500
"""Records taken from the client at a time."""
PATIENCE = 0.2
"""Seconds after which a quiet log is asked whether to stop."""


@dataclass(frozen=True)
class Record:
    """One Kafka record."""

    partition: int
    offset: int
    timestamp: datetime
    key: bytes | None
    value: bytes | None
    content_type: bytes | None = None
    source: bytes | None = None
    """Of a derived event: how far its source had been read when it was written."""

    def events(self) -> list[bytes]:
        """The events that it holds as JSON texts; what can't be taken apart is told as it is, as decoding keeps it."""
        if self.value is None:
            return [b""]
        try:
            return opened(self.value, self.content_type)
        except Reject:
            return [self.value]


def of_records(records: Sequence[Record]) -> pa.Table:
    """Records as decoding takes them."""
    return pa.table(
        {
            "partition": [record.partition for record in records],
            "offset": [record.offset for record in records],
            "timestamp": [record.timestamp for record in records],
            "key": [record.key for record in records],
            "value": [record.value for record in records],
            "content_type": [record.content_type for record in records],
        },
        schema=RECORDS,
    )


@dataclass(frozen=True)
class Earliest:
    """From the first record the log still holds."""


@dataclass(frozen=True)
class Latest:
    """Only what comes from now on."""


@dataclass(frozen=True)
class AtOffsets:
    """From an offset of each named partition; `everywhere` for the others, which begin at their end without it."""

    offsets: tuple[tuple[int, int], ...] = ()
    everywhere: int | None = None


@dataclass(frozen=True)
class AtTime:
    """From the first record that arrived at or after a moment."""

    time: datetime


Start = Earliest | Latest | AtOffsets | AtTime


def parse_start(text: str) -> Start:
    """Reads what `--from` takes.

    >>> parse_start("123")
    AtOffsets(offsets=(), everywhere=123)
    >>> parse_start("0:123,1:50")
    AtOffsets(offsets=((0, 123), (1, 50)), everywhere=None)
    """
    named: dict[str, Start] = {"earliest": Earliest(), "latest": Latest()}
    if text in named:
        return named[text]
    if text.isdecimal() and text.isascii():
        return AtOffsets(everywhere=int(text))
    pairs = [part.strip().split(":") for part in text.split(",")]
    if all(len(pair) == 2 and all(n.isdecimal() and n.isascii() for n in pair) for pair in pairs) and "T" not in text:
        return AtOffsets(tuple(sorted({int(partition): int(offset) for partition, offset in pairs}.items())))
    return AtTime(_time(text))


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(
            f"--from: can't read '{text}'\n"
            "  expected earliest, latest, an offset (123), offsets (0:123,1:50) or a time (2026-01-31T12:00:00Z)"
        ) from error
    if time.tzinfo is None:
        raise UsageError(f"--from: no time zone in '{text}'\n  expected a time such as {text}Z or {text}+01:00")
    return time.astimezone(UTC)


def place(settings: LogSettings, topic: str, start: Start) -> Cut:
    """The cut that a start means right now."""
    match start:
        case Earliest():
            return topics.beginning(settings, topic)
        case Latest():
            return topics.end(settings, topic)
        case AtTime(time):
            return topics.at_time(settings, topic, time)
        case AtOffsets(offsets, everywhere):
            return _at_offsets(settings, topic, dict(offsets), everywhere)


def _at_offsets(settings: LogSettings, topic: str, offsets: dict[int, int], everywhere: int | None) -> Cut:
    last = topics.end(settings, topic)
    first = topics.beginning(settings, topic)
    partitions = topics.describe(settings, [topic])[topic].partitions
    for partition in offsets:
        if partition >= partitions:
            raise UsageError(f"--from: topic '{topic}' has no partition {partition}\n  it has 0 to {partitions - 1}")
    wanted = {p: offsets.get(p, last[p] if everywhere is None else everywhere) for p in range(partitions)}
    return Cut.of(last.topic, wanted).advance(first)


def follow(
    settings: LogSettings,
    topic: str,
    start: Start | Cut,
    *,
    until: Cut | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[Record]:
    """Committed records from `start` on: until `stop()`, or up to the cut `until`, at which a bounded read finishes."""
    begin = start if isinstance(start, Cut) else place(settings, topic, start)
    for batch in batches(settings, topic, begin, until=until, stop=stop):
        yield from batch


def batches(
    settings: LogSettings,
    topic: str,
    begin: Cut,
    *,
    until: Cut | None = None,
    stop: Callable[[], bool] = lambda: False,
    most: int = FETCH,
    patience: float = PATIENCE,
) -> Iterator[list[Record]]:
    """Committed records as they come: at most so many at a time, and no later than so many seconds, if there are any.

    Reading ends at `until` even when nothing is found below it: transactions leave offsets without a record.
    """
    state = topics.describe(settings, [topic]).get(topic)
    if state is None or state.id != begin.topic or (until and until.topic != begin.topic):
        raise LogError(f"log: topic '{topic}' is not the one that was read before\n  it was deleted and made again")
    wanted = {p: begin[p] for p in range(state.partitions) if until is None or begin[p] < until[p]}
    if not wanted:
        return
    with consuming(settings, topic) as consumer:
        yield from read(consumer, topic, wanted, until=until, stop=stop, most=most, patience=patience)


@contextmanager
def consuming(
    settings: LogSettings, topic: str, options: Mapping[str, int] = MappingProxyType({})
) -> Iterator[Consumer]:
    """A consumer for one piece of work on a topic."""
    reasons = Reasons()
    consumer = Consumer(
        {
            **settings.client(),
            # The client demands a name, though without subscription and commits no group ever comes to be.
            "group.id": "tarnbeck-follow",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
            "error_cb": reasons.note,
            **options,
        }
    )
    try:
        yield consumer
    except KafkaException as error:
        raise failure(settings, f"read topic '{topic}'", error, reasons) from error
    finally:
        consumer.close()


def read(
    consumer: Consumer,
    topic: str,
    wanted: Mapping[int, int],
    *,
    until: Cut | None,
    stop: Callable[[], bool],
    most: int,
    patience: float,
) -> Iterator[list[Record]]:
    """The same as `batches` by a consumer that is there, from these offsets on."""
    consumer.assign([TopicPartition(topic, partition, offset) for partition, offset in wanted.items()])
    open_ = set(wanted)
    while open_ and not stop():
        found: list[Record] = []
        for message in consumer.consume(most, patience):
            error, partition, offset = message.error(), message.partition(), message.offset()
            if error and error.code() != KafkaError._PARTITION_EOF:
                raise KafkaException(error)
            if not error and partition in open_ and (until is None or offset < until[partition]):
                found.append(_record(message))
            # An end-of-partition event carries the next offset, a record its own.
            reached = offset + (0 if error else 1)
            if until is not None and reached >= until[partition]:
                open_.discard(partition)
        if found:
            yield found
        if until is not None:
            open_ -= _passed(consumer, topic, open_, until)


def _passed(consumer: Consumer, topic: str, partitions: set[int], until: Cut) -> set[int]:
    """The partitions whose position stands at the cut though no record told so."""
    asked = [TopicPartition(topic, partition) for partition in partitions]
    return {at.partition for at in consumer.position(asked) if at.offset >= until[at.partition]} if asked else set()


def _record(message: Message) -> Record:
    _, millis = message.timestamp()
    time = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=millis)
    # Of several headers with one name, the last one counts, as everywhere in Kafka.
    headers = dict(message.headers() or ())
    place = message.partition(), message.offset(), time
    return Record(*place, message.key(), message.value(), headers.get(HEADER), headers.get(SOURCE))
