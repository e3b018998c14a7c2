"""Fills the topic that every figure reads: millions of events, once per run, in the order of their times."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator

import numpy as np
from confluent_kafka import Producer

from bench.declared import KEYS, PARTITIONS, SPREAD_SECONDS, key_of, partition_of
from tarnbeck.cut import Cut
from tarnbeck.errors import LogError
from tarnbeck.log import topics
from tarnbeck.log.settings import LogSettings
from tarnbeck.schema.stream import Stream

BLOCK = 20_000
IN_FLIGHT = 400_000
SEED = 7

Message = dict[str, bytes]
Write = Callable[[datetime.datetime, str, int, int], bytes]
"""One event as JSON: its time, its key, a number below a million by chance, and how many came before it."""


def fill(log: LogSettings, declared: Stream, events: int, write: Write, told: Callable[[int], None]) -> Cut:
    """Makes the topic of a stream and fills it; gives back its end."""
    topic = declared.topic
    topics.ensure(log, declared)
    producer = Producer(
        {
            **log.client(),
            "linger.ms": 50,
            "batch.size": 1_000_000,
            "batch.num.messages": 100_000,
            "queue.buffering.max.messages": 2 * IN_FLIGHT,
            "enable.idempotence": True,
        }
    )
    for first, block in _blocks(events, write):
        for partition, messages in enumerate(block):
            producer.produce_batch(topic, messages, partition=partition)
        while len(producer) > IN_FLIGHT:
            producer.poll(0.05)
        told(first)
    producer.flush()
    end = topics.end(log, topic)
    found = sum(offset for _, offset in end)
    if found != events:
        raise LogError(f"bench: topic '{topic}' was to hold {events} events, but holds {found}\n  run it again")
    return end


def _blocks(events: int, write: Write) -> Iterator[tuple[int, list[list[Message]]]]:
    """Events of the hour before now, by partition, together with how many came before them."""
    random = np.random.default_rng(SEED)
    start = began()
    names = [key_of(number) for number in range(KEYS)]
    for first in range(0, events, BLOCK):
        count = min(BLOCK, events - first)
        block: list[list[Message]] = [[] for _ in range(PARTITIONS)]
        micros = (np.arange(first, first + count) * (SPREAD_SECONDS * 1_000_000 / events)).astype(np.int64)
        numbers, cents = random.integers(0, KEYS, count).tolist(), random.integers(0, 1_000_000, count).tolist()
        for seq, (micro, number, cent) in enumerate(zip(micros.tolist(), numbers, cents, strict=True), first):
            moment = start + datetime.timedelta(microseconds=micro)
            value = write(moment, names[number], cent, seq)
            block[partition_of(number)].append({"key": names[number].encode(), "value": value})
        yield first, block


def began() -> datetime.datetime:
    """The time of the first event: the last one is of now."""
    now = datetime.datetime.now(datetime.UTC).replace(second=0, microsecond=0)
    return now - datetime.timedelta(seconds=SPREAD_SECONDS)


def event(moment: datetime.datetime, key: str, cents: int, seq: int) -> bytes:
    """One event as JSON, about 100 bytes."""
    time = f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z"
    side = "buy" if seq % 2 else "sell"
    text = f'{{"time":"{time}","key":"{key}","value":{cents // 100}.{cents % 100:02d},"seq":{seq},"side":"{side}"}}'
    return text.encode()
