"""A look at the newest events of a stream: the same as by reading everything, at a bounded cost, and in time."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from tarnbeck.cut import Cut
from tarnbeck.errors import LogError
from tarnbeck.log import client, follow, topics
from tarnbeck.log.broker import Broker
from tarnbeck.log.events import as_dict, events_of
from tarnbeck.log.follow import Record
from tarnbeck.schema import packs
from tarnbeck.serve import tail
from tests.log.declared import stream
from tests.waiting import awaited

pytestmark = pytest.mark.broker

BEGAN = int(time.time() * 1000) - 1_000_000
"""Kafka takes no record from the future, and forgets old ones."""
Sent = tuple[bytes, str | None]
Fill = Callable[..., Cut]


@pytest.fixture
def fill(broker: Broker, topic_name: str) -> Fill:
    """Sends values, each at a later moment than the one before, to partitions as told."""

    def sending(values: list[Sent], partitions: Callable[[int], int] = lambda _: 0) -> Cut:
        topics.ensure(broker.settings, stream(topic_name, partitions=3))
        producer = Producer({**broker.settings.client(), "message.max.bytes": 1 << 20})
        began = sum(offset for _, offset in topics.end(broker.settings, topic_name))
        for number, (value, kind) in enumerate(values):
            headers: Any = {} if kind is None else {packs.HEADER: kind}
            at = BEGAN + began + number
            producer.produce(topic_name, value, partition=partitions(number), timestamp=at, headers=headers)
            producer.poll(0)
        producer.flush()
        end = topics.end(broker.settings, topic_name)
        assert sum(offset for _, offset in end) == began + len(values)
        return end

    return sending


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[Record]:
    """Every record that was taken from the log."""
    found: list[Record] = []
    made = follow._record

    def noting(message: Any) -> Record:
        found.append(made(message))
        return found[-1]

    monkeypatch.setattr(follow, "_record", noting)
    return found


def pack(first: int, count: int) -> Sent:
    made = packs.of_lines([b'{"n":%d}' % number for number in range(first, first + count)])
    return made.value, made.content_type


def test_few_packs_are_opened_to_show_few_events(
    broker: Broker, topic_name: str, fill: Fill, taken: list[Record]
) -> None:
    fill([pack(number * 500, 500) for number in range(100)])
    found = tail.newest(broker.settings, topic_name, None, 200)
    assert [event["value"] for event in found["events"]] == [f'{{"n":{number}}}' for number in range(49_800, 50_000)]
    assert [event["index"] for event in found["events"]] == list(range(300, 500))
    assert len(taken) <= 2


def test_no_more_is_read_than_a_reply_can_hold(
    broker: Broker, topic_name: str, fill: Fill, taken: list[Record]
) -> None:
    """Large records, and large ones behind small ones, which promise that many fit."""
    fill([(b"x" * 500_000, None)] * 60 + [(b"small", None)] * 20)
    found = tail.newest(broker.settings, topic_name, None, 500)
    assert sum(len(record.value or b"") for record in taken) < 10 * tail.BYTES
    assert [len(event["value"]) for event in found["events"]] == [500_000] * 4 + [5] * 20


def test_clients_are_shared(broker: Broker, topic_name: str, fill: Fill, monkeypatch: pytest.MonkeyPatch) -> None:
    end, made = fill([(b"1", None)] * 3), []

    def making(*given: Any) -> AdminClient:
        made.append(given)
        return AdminClient(*given)

    monkeypatch.setattr(client, "AdminClient", making)
    for after in (None, end, end):
        tail.newest(broker.settings, topic_name, after, 10)
    assert len(made) <= 1


@contextmanager
def stopped(broker: Broker) -> Iterator[None]:
    os.kill(broker.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(broker.pid, signal.SIGCONT)


def test_a_broker_that_does_not_answer_is_told_in_time(
    broker: Broker, topic_name: str, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill([(b"1", None)] * 3)
    monkeypatch.setattr(tail, "LOG_SECONDS", 1.0)
    began = time.monotonic()
    with stopped(broker), pytest.raises(LogError, match=f"can't read the offsets of topic '{topic_name}'"):
        tail.newest(broker.settings, topic_name, None, 10)
    assert time.monotonic() - began < 4
    ends = topics.ends(broker.settings, topic_name, 10.0)
    monkeypatch.setattr(topics, "ends", lambda *_: ends)
    began = time.monotonic()
    with stopped(broker), pytest.raises(LogError, match="was not read within 1 seconds"):
        tail.newest(broker.settings, topic_name, None, 10)
    assert time.monotonic() - began < 4


def everything(broker: Broker, topic: str, after: Cut) -> list[dict[str, Any]]:
    """All events behind a cut, by their times: read from there to the end, as nobody should who wants a few."""
    records = follow.follow(broker.settings, topic, after, until=topics.end(broker.settings, topic))
    ordered = sorted(records, key=lambda record: record.timestamp)
    return [as_dict(event) for record in ordered for event in events_of(record)]


def mixed(chance: random.Random) -> Sent:
    rows = [{"n": chance.randrange(10), "t": "x" * chance.randrange(30)} for _ in range(chance.randrange(1, 40))]
    arrow = packs.of_table(pa.Table.from_pylist(rows))
    kinds: list[Sent] = [
        (b"plain %d" % chance.randrange(1000), None),
        (b"\xff not text", None),
        (arrow.value, arrow.content_type),
        (b"broken", packs.ARROW),
        (b"\n\n", packs.NDJSON),
    ]
    return chance.choice([*kinds, pack(chance.randrange(100), chance.randrange(1, 40))])


@pytest.mark.parametrize("seed", range(3))
def test_a_look_shows_what_a_reading_of_everything_shows(
    broker: Broker, topic_name: str, fill: Fill, seed: int
) -> None:
    chance = random.Random(seed)
    weights = [chance.random() ** 3 for _ in range(3)]
    places = chance.choices(range(3), weights, k=300)
    fill([mixed(chance) for _ in range(150)], lambda number: places[number])
    end = transaction(broker, topic_name, chance.randrange(3))
    for limit in (1, 7, 60, 500):
        for _ in range(4):
            after = Cut.of(end.topic, {partition: chance.randint(0, offset) for partition, offset in end})
            found = tail.newest(broker.settings, topic_name, after, limit)
            assert found["events"] == everything(broker, topic_name, after)[-limit:]
            assert found["next"] == str(end)
        whole = tail.newest(broker.settings, topic_name, None, limit)
        assert whole["events"] == everything(broker, topic_name, Cut(end.topic))[-limit:]
        assert whole["skipped"] == 0


def transaction(broker: Broker, topic: str, partition: int) -> Cut:
    """Commits one record and aborts nine: what ends a transaction has an offset and is no record."""
    before = topics.end(broker.settings, topic)[partition]
    producer = Producer({**broker.settings.client(), "transactional.id": topic})
    producer.init_transactions()
    for count, finish in ((1, producer.commit_transaction), (9, producer.abort_transaction)):
        producer.begin_transaction()
        for number in range(count):
            producer.produce(topic, b"in a transaction", partition=partition, timestamp=BEGAN + 10_000 + number)
        producer.flush()
        finish()
    awaited(lambda: topics.end(broker.settings, topic)[partition] == before + 12, "the marks of both transactions")
    return topics.end(broker.settings, topic)
