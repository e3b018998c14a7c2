"""Sends events to a stream's topic, never drops one, and says what became of each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any, Self

import orjson
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from tarnbeck.errors import LogError
from tarnbeck.log.client import TIMEOUT, Reasons, failure
from tarnbeck.log.lines import Format, Line, read
from tarnbeck.log.settings import LogSettings
from tarnbeck.schema.encode import to_json
from tarnbeck.schema.stream import Stream

SERVE_EVERY = 500
"""Records between two looks at the acknowledgements that came in."""
GIVE_UP_MS = 60_000
"""How long Kafka may take to acknowledge a record before it counts as failed."""


@dataclass(frozen=True)
class Failure:
    """Why some events were not taken, how many, and the first of them."""

    reason: str
    count: int
    first: str

    def __str__(self) -> str:
        return f"{self.count} not sent: {self.reason} (first: {self.first})"


@dataclass(frozen=True)
class Offsets:
    """The first and the last offset that Kafka gave out in one partition, both inclusive; others may lie between."""

    partition: int
    first: int
    last: int


@dataclass(frozen=True)
class Sent:
    """What became of the events that were sent."""

    acknowledged: int
    failures: tuple[Failure, ...]
    offsets: tuple[Offsets, ...]

    @property
    def failed(self) -> int:
        return sum(failure.count for failure in self.failures)


class Tally:
    """Counts outcomes; acknowledgements may arrive in any thread that serves the producer."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.asked = self.settled = self._acknowledged = 0
        self._failures: dict[str, Failure] = {}
        self._first: dict[int, int] = {}
        self._last: dict[int, int] = {}

    def refuse(self, reason: str, place: str) -> None:
        with self._lock:
            known = self._failures.get(reason, Failure(reason, 0, place))
            self._failures[reason] = Failure(reason, known.count + 1, known.first)

    def settle(self, error: KafkaError | None, message: Message, place: str) -> None:
        if error is not None:
            self.refuse(error.str(), place)
        with self._lock:
            self.settled += 1
            if error is None:
                self._acknowledged += 1
                partition, offset = message.partition(), message.offset()
                # Two threads that serve a shared producer may tell of two records in either order.
                self._first[partition] = min(self._first.get(partition, offset), offset)
                self._last[partition] = max(self._last.get(partition, offset), offset)

    def sent(self) -> Sent:
        with self._lock:
            offsets = tuple(Offsets(p, self._first[p], self._last[p]) for p in sorted(self._first))
            return Sent(self._acknowledged, tuple(self._failures.values()), offsets)


def producer(settings: LogSettings) -> Producer:
    """A client that several senders may share: idempotent, all replicas acknowledge, places keys as Java does."""
    reasons = Reasons()
    config = {
        **settings.client(),
        "acks": "all",
        "enable.idempotence": True,
        "linger.ms": 5,
        "compression.type": "lz4",
        "partitioner": "murmur2_random",
        "message.max.bytes": 8 * 1024 * 1024,
        "message.timeout.ms": GIVE_UP_MS,
        "queue.buffering.max.messages": 100_000,
        "queue.buffering.max.kbytes": 64 * 1024,
        "reconnect.backoff.ms": 10,
        "retry.backoff.ms": 10,
        "error_cb": reasons.note,
    }
    made: Producer | None = None
    try:
        made = Producer(config)
        # A wrong address shows here and not event by event; and the id that makes sending idempotent is
        # asked for over a connection that stands, else the client waits a second before it asks again.
        made.cluster_id(TIMEOUT)
    except KafkaException as error:
        if made is not None:
            made.poll(0)
        raise failure(settings, "send", error, reasons) from error
    return made


class Sender:
    """Sends to one stream; `flush` waits for Kafka and tells the outcome of all since the last one.

    Leaving the `with` block flushes too, and raises when events failed that no `flush` has told of.
    """

    def __init__(self, settings: LogSettings, stream: Stream, shared: Producer | None = None) -> None:
        self._stream = stream
        self._producer = producer(settings) if shared is None else shared
        self._tally = Tally()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        sent = self.flush()
        if kind is None and sent.failed:
            reasons = "\n".join(f"  {each}" for each in sent.failures)
            raise LogError(f"stream '{self._stream.name}': {sent.failed} events were not taken\n{reasons}")

    def send(
        self,
        value: bytes,
        key: bytes | None = None,
        timestamp: datetime | None = None,
        *,
        partition: int | None = None,
        place: str | None = None,
    ) -> None:
        """Hands one value to the producer and waits while its queue is full; `place` names it if it fails."""
        tally = self._tally
        tally.asked += 1
        where = place or f"event {tally.asked}"
        options: dict[str, Any] = {}
        if timestamp is not None:
            options["timestamp"] = round(timestamp.timestamp() * 1000)
        if partition is not None:
            options["partition"] = partition
        while True:
            try:
                self._producer.produce(
                    self._stream.topic,
                    value,
                    key,
                    on_delivery=lambda error, message: tally.settle(error, message, where),
                    **options,
                )
                break
            except BufferError:
                self._producer.poll(0.1)
            except KafkaException as error:
                tally.asked -= 1
                tally.refuse(error.args[0].str(), where)
                break
        if tally.asked % SERVE_EVERY == 0:
            self._producer.poll(0)

    def send_event(self, event: Mapping[str, Any]) -> None:
        """Sends a Python mapping as JSON, keyed by the stream's key column."""
        value = to_json(self._stream, event)
        self.send(value, key_of(self._stream, value))

    def send_line(self, line: Line) -> None:
        """Sends a line that was read, or counts it with the reason why it can't be."""
        if line.reason is not None:
            self._tally.refuse(line.reason, line.place)
        else:
            self.send(line.value, key_of(self._stream, line.value), place=line.place)

    def flush(self) -> Sent:
        """Waits until each record is acknowledged or given up, which the producer's time limit bounds."""
        tally, self._tally = self._tally, Tally()
        while tally.settled < tally.asked:
            self._producer.poll(0.05)
        return tally.sent()


def key_of(stream: Stream, value: bytes) -> bytes | None:
    """The record key of a JSON value: the text of its key column, as other producers would write it.

    A value that can't be read has no key: it goes to any partition, and from there to quarantine.
    """
    if stream.key is None:
        return None
    try:
        event = orjson.loads(value)
    except orjson.JSONDecodeError:
        return None
    found = event.get(stream.key) if isinstance(event, dict) else None
    if found is None:
        return None
    return found.encode() if isinstance(found, str) else orjson.dumps(found)


def send_lines(
    settings: LogSettings,
    stream: Stream,
    lines: Iterable[bytes],
    *,
    format: Format = "json",  # noqa: A002
    progress: Callable[[int], None] = lambda _: None,
) -> Sent:
    """Sends the lines of a file; `progress` is told from time to time how many were read."""
    with Sender(settings, stream) as sender:
        count = 0
        for count, line in enumerate(read(stream, lines, format), 1):
            sender.send_line(line)
            if count % SERVE_EVERY == 0:
                progress(count)
        progress(count)
        return sender.flush()


def send_events(settings: LogSettings, stream: Stream, events: Iterable[Mapping[str, Any]]) -> Sent:
    """Sends Python mappings: times as ISO-8601 in UTC, decimals exact, bytes as base64."""
    with Sender(settings, stream) as sender:
        for event in events:
            sender.send_event(event)
        return sender.flush()
