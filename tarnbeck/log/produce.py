"""Sends events to a stream's topic, never drops one, and says what became of each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from tarnbeck.errors import LogError, UsageError
from tarnbeck.log import pack
from tarnbeck.log.client import TIMEOUT, Reasons, failure
from tarnbeck.log.lines import LONGEST, Format, Line, read
from tarnbeck.log.pack import Packed, key_of
from tarnbeck.log.settings import LogSettings
from tarnbeck.schema.conform import conform
from tarnbeck.schema.encode import to_json
from tarnbeck.schema.packs import HEADER
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
    """Counts outcomes: `asked` and `settled` are records, all else events.

    Acknowledgements may arrive in any thread that serves the producer.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.asked = self.settled = self._acknowledged = 0
        self._failures: dict[str, Failure] = {}
        self._first: dict[int, int] = {}
        self._last: dict[int, int] = {}

    def refuse(self, reason: str, place: str, events: int = 1) -> None:
        with self._lock:
            known = self._failures.get(reason, Failure(reason, 0, place))
            self._failures[reason] = Failure(reason, known.count + events, known.first)

    def settle(self, error: KafkaError | None, message: Message, place: str, events: int) -> None:
        if error is not None:
            self.refuse(error.str(), place, events)
        with self._lock:
            self.settled += 1
            if error is None:
                self._acknowledged += events
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


def ours(stream: Stream, command: str) -> Stream:
    """The stream, unless it belongs to another application: what a command would do to it is done there."""
    if stream.owner is not None:
        raise UsageError(
            f"{command}: stream '{stream.name}' belongs to app '{stream.owner.app}', which alone writes it\n"
            f"  do it there: tarnbeck {command} {stream.owner.stream} --folder {stream.owner.folder}"
        )
    return stream


class Sender:
    """Sends to one stream; `flush` waits for Kafka and tells the outcome of all since the last one.

    Leaving the `with` block flushes too, and raises when events failed that no `flush` has told of.
    """

    def __init__(self, settings: LogSettings, stream: Stream, shared: Producer | None = None) -> None:
        if stream.derived is not None:
            raise UsageError(
                f"send: stream '{stream.name}' is derived from '{stream.derived.source}', which decides what it holds\n"
                f"  send to '{stream.derived.source}'"
            )
        self._stream = ours(stream, "send")
        self._producer = producer(settings) if shared is None else shared
        self._tally = Tally()
        self._open: pack.Lines | None = None

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
        content_type: str | None = None,
        events: int = 1,
        headers: Sequence[tuple[str, bytes]] = (),
    ) -> None:
        """Hands one value to the producer and waits while its queue is full; `place` names it if it fails.

        A content type makes it a packed record, which holds so many events.
        """
        tally = self._tally
        tally.asked += 1
        where = place or f"event {tally.asked}"
        options: dict[str, Any] = {}
        if timestamp is not None:
            options["timestamp"] = round(timestamp.timestamp() * 1000)
        if partition is not None:
            options["partition"] = partition
        told = [*headers, *([] if content_type is None else [(HEADER, content_type.encode())])]
        if told:
            options["headers"] = told
        while True:
            try:
                self._producer.produce(
                    self._stream.topic,
                    value,
                    key,
                    on_delivery=lambda error, message: tally.settle(error, message, where, events),
                    **options,
                )
                break
            except BufferError:
                self._producer.poll(0.1)
            except KafkaException as error:
                tally.asked -= 1
                tally.refuse(error.args[0].str(), where, events)
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

    def pack_line(self, line: Line) -> None:
        """Puts a line that was read into a pack, which is sent when it is full, or by `flush`."""
        if line.reason is not None:
            self._tally.refuse(line.reason, line.place)
            return
        if self._open is None:
            self._open = pack.Lines(self._partitions())
        key = key_of(self._stream, line.value)
        if b"\n" in line.value:
            # Two lines for a pack; what came before it must still stand before it in its partition.
            self._send_packs(self._open.close(self._open.partition(key)))
            self.send(line.value, key, place=line.place)
        else:
            self._send_packs(self._open.add(key, line.value, line.place))

    def pack_table(self, table: pa.Table) -> None:
        """Sends the rows of a table as they are in packs, and counts those that are too large for one."""
        self._send_packs(pack.of_table(self._stream, table, self._partitions()))

    def _send_packs(self, packs: Iterable[Packed]) -> None:
        for each in packs:
            value = each.pack.value
            if len(value) > LONGEST:
                self._tally.refuse("larger than 1 MiB", each.place, each.events)
                continue
            place = f"{each.events} events from {each.place}" if each.events > 1 else each.place
            content_type = each.pack.content_type
            self.send(value, partition=each.partition, place=place, content_type=content_type, events=each.events)

    def _partitions(self) -> int:
        """How many partitions the topic has now: with the key they decide where an event goes."""
        topic = self._stream.topic
        try:
            found = self._producer.list_topics(topic, TIMEOUT).topics[topic]
        except KafkaException as error:
            raise LogError(f"log: can't ask for topic '{topic}': {error.args[0].str()}\n  is Kafka running?") from error
        if found.error is not None:
            raise LogError(f"log: topic '{topic}': {found.error.str()}\n  does the application run that declares it?")
        return len(found.partitions)

    def flush(self) -> Sent:
        """Waits until each record is acknowledged or given up, which the producer's time limit bounds."""
        if self._open is not None:
            self._send_packs(self._open.rest())
        tally, self._tally = self._tally, Tally()
        while tally.settled < tally.asked:
            self._producer.poll(0.05)
        return tally.sent()


Way = Callable[[Sender, Line], None]


def send_lines(
    settings: LogSettings,
    stream: Stream,
    lines: Iterable[bytes],
    *,
    format: Format = "json",  # noqa: A002
    way: Way = Sender.send_line,
    progress: Callable[[int], None] = lambda _: None,
) -> Sent:
    """Sends the lines of a file, each as a record or in packs; `progress` is told now and then how many were read."""
    with Sender(settings, stream) as sender:
        count = 0
        for count, line in enumerate(read(stream, lines, format), 1):
            way(sender, line)
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


def send_table(settings: LogSettings, stream: Stream, table: pa.Table) -> Sent:
    """Sends the rows of an Arrow table in packs; one that does not fit is refused before anything is sent."""
    fit = conform(stream, table)
    with Sender(settings, stream) as sender:
        sender.pack_table(fit)
        return sender.flush()
