"""Topics as streams need them: made, checked against the declaration, and measured as cuts."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, OffsetSpec, ResourceType

from tarnbeck.cut import Cut
from tarnbeck.errors import LogError
from tarnbeck.log.client import TIMEOUT, admin, shared_admin
from tarnbeck.log.settings import LogSettings
from tarnbeck.schema.stream import Stream

PASSING = {
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.FENCED_LEADER_EPOCH,
}
"""What a broker says while a partition finds its leader: after the topic was made, or when brokers come and go."""


@dataclass(frozen=True)
class TopicState:
    """A topic as the broker has it; the id tells it from another one that had the name before."""

    id: str
    partitions: int


def describe(settings: LogSettings, topics: Iterable[str]) -> dict[str, TopicState]:
    """The state of each topic that exists; the others are left out."""
    with admin(settings, "describe topics") as client:
        return _describe(client, list(topics))


def ensure(settings: LogSettings, stream: Stream) -> TopicState:
    """The stream's topic: made when it is missing and may be made, refused when it doesn't fit the declaration."""
    with admin(settings, f"prepare topic '{stream.topic}'") as client:
        state = _describe(client, [stream.topic]).get(stream.topic)
        if state is None and stream.create:
            _create(client, stream)
            state = _propagated(client, stream.topic)
        if state is None:
            raise LogError(_missing(client, settings, stream))
        problems = [*_other_partitions(stream, state), *_compacted(client, stream.topic)]
    if problems:
        lines = "\n".join(f"  {problem}" for problem in problems)
        raise LogError(f"stream '{stream.name}': topic '{stream.topic}' doesn't fit the declaration\n{lines}")
    return state


def beginning(settings: LogSettings, topic: str) -> Cut:
    """The first offset that each partition still holds."""
    return _cut(settings, topic, OffsetSpec.earliest())


def end(settings: LogSettings, topic: str) -> Cut:
    """The end of what is committed for good: the last stable offsets."""
    return _cut(settings, topic, OffsetSpec.latest())


def ends(settings: LogSettings, topic: str, seconds: float) -> tuple[Cut, Cut]:
    """The beginning and the end, for those who look again and again and do not wait for longer than that."""
    deadline = time.monotonic() + seconds
    with shared_admin(settings, _DOING.format(topic=topic)) as client:
        state = _existing(client, settings, topic, deadline)
        first, last = (
            _offsets(client, topic, state, spec, deadline) for spec in (OffsetSpec.earliest(), OffsetSpec.latest())
        )
    return Cut.of(state.id, first), Cut.of(state.id, last)


def at_time(settings: LogSettings, topic: str, when: datetime) -> Cut:
    """The first offset in each partition whose record is not older than `when`; the end where there is none."""
    late = _asked(settings, topic, OffsetSpec.for_timestamp(int(when.astimezone(UTC).timestamp() * 1000)))[1]
    last = end(settings, topic)
    return Cut.of(last.topic, {p: last[p] if offset < 0 else offset for p, offset in late.items()})


_DOING = "read the offsets of topic '{topic}'"


def _cut(settings: LogSettings, topic: str, spec: OffsetSpec) -> Cut:
    return Cut.of(*_asked(settings, topic, spec))


def _asked(settings: LogSettings, topic: str, spec: OffsetSpec) -> tuple[str, dict[int, int]]:
    """The topic's id, and an offset of each partition."""
    with admin(settings, _DOING.format(topic=topic)) as client:
        state = _existing(client, settings, topic, time.monotonic() + TIMEOUT)
        return state.id, _offsets(client, topic, state, spec, time.monotonic() + TIMEOUT)


def _offsets(client: AdminClient, topic: str, state: TopicState, spec: OffsetSpec, deadline: float) -> dict[int, int]:
    asked = {TopicPartition(topic, partition): spec for partition in range(state.partitions)}
    while True:
        futures = client.list_offsets(
            asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=_left(deadline)
        )
        try:
            return {place.partition: future.result().offset for place, future in futures.items()}
        except KafkaException as error:
            if error.args[0].code() not in PASSING or time.monotonic() > deadline:
                raise
        client.poll(0.02)


def _left(deadline: float) -> float:
    """Seconds until then; a question needs some in any case."""
    return max(deadline - time.monotonic(), 0.01)


def _existing(client: AdminClient, settings: LogSettings, topic: str, deadline: float) -> TopicState:
    state = _describe(client, [topic], _left(deadline)).get(topic)
    if state is None:
        raise LogError(
            f"log: no topic '{topic}' at {settings.bootstrap}\n  start the application that declares it first"
        )
    return state


def _describe(client: AdminClient, topics: list[str], seconds: float | None = None) -> dict[str, TopicState]:
    if not topics:
        return {}
    found = {}
    asked = client.describe_topics(TopicCollection(topics), request_timeout=seconds or TIMEOUT)
    for name, future in asked.items():
        try:
            topic = future.result()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise
        else:
            found[name] = TopicState(str(topic.topic_id), len(topic.partitions))
    return found


def _create(client: AdminClient, stream: Stream) -> None:
    """Makes the topic, whose replication the broker decides; one that another process made meanwhile will do."""
    topic = NewTopic(stream.topic, stream.partitions, -1, config={"cleanup.policy": "delete"})
    (future,) = client.create_topics([topic], operation_timeout=TIMEOUT, request_timeout=TIMEOUT).values()
    try:
        future.result()
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise


def _propagated(client: AdminClient, topic: str) -> TopicState | None:
    """A new topic, once the broker that is asked has heard of it: the controller answers for its making earlier."""
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline:
        state = _describe(client, [topic]).get(topic)
        if state:
            return state
        client.poll(0.02)
    return None


def _missing(client: AdminClient, settings: LogSettings, stream: Stream) -> str:
    there = sorted(name for name in client.list_topics(timeout=TIMEOUT).topics if not name.startswith("__"))
    return (
        f"stream '{stream.name}': no topic '{stream.topic}' at {settings.bootstrap}\n"
        f"  the broker has: {', '.join(there) or 'none'}\n"
        "  make it first, or declare the stream with create=True"
    )


def _other_partitions(stream: Stream, state: TopicState) -> list[str]:
    if state.partitions == stream.partitions:
        return []
    return [
        f"partitions: declared {stream.partitions}, the topic has {state.partitions}; "
        f"declare partitions={state.partitions}, or another topic"
    ]


def _compacted(client: AdminClient, topic: str) -> list[str]:
    (future,) = client.describe_configs([ConfigResource(ResourceType.TOPIC, topic)], request_timeout=TIMEOUT).values()
    policy = future.result()["cleanup.policy"].value
    if "compact" not in policy:
        return []
    return [
        f"cleanup.policy: expected delete, the topic has {policy}; a compacted topic forgets events: "
        "declare a topic that keeps them"
    ]
