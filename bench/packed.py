"""Figure: one-minute windows from packed Arrow records, against Flink's TUMBLE on the same events one by one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from confluent_kafka import Producer

from bench.backlog import anatomy, catch_up
from bench.declared import KEYS, MINUTES, PARTITIONS, SPREAD_SECONDS, declare, key_of, stream
from bench.figure import OURS, Figure, Target, race, rate, steps
from bench.fill import SEED, began
from bench.flink.process import flink
from bench.place import Place
from bench.tumbling import TUMBLE
from bench.windows import FLINK, WARM
from tarnbeck.log import topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TARGET = Target(4.0, least=True)
PACK = 10_000
"""Events of one record, which has half a megabyte then."""
HEADERS = [("content-type", b"application/vnd.apache.arrow.stream")]


def figures(place: Place) -> Iterator[Figure]:
    packed = filled(place)
    with place.spark("packed") as spark:
        yield measure(spark, place, packed)


def measure(spark: SparkSession, place: Place, packed: Place) -> Figure:
    app = declare(packed.topic, [MINUTES])
    with flink(place.folder / "flink") as running:
        sides = {
            OURS: lambda: catch_up(spark, packed, app),
            FLINK: lambda: running.seconds(place.log, place.topic, TUMBLE),
        }
        best = race(place.repeats + WARM, sides, place.tell)
    return Figure(
        f"packed / {FLINK}",
        f"backlog of Arrow records of {PACK:,} events to one-minute count, sum, min, max by 1,000 keys, "
        "against plain records",
        rate(place.events, best[OURS]),
        rate(place.events, best[FLINK]),
        best[FLINK] / best[OURS],
        TARGET,
        profile=steps([*anatomy(spark, packed, app), ("in micro-batches, committed", best[OURS])]),
    )


def filled(place: Place) -> Place:
    """A topic of its own that holds as many events, in packs."""
    topic = f"{place.topic}.packed"
    topics.ensure(place.log, stream(topic))
    producer = Producer({**place.log.client(), "enable.idempotence": True, "message.max.bytes": 1_048_576})
    for number, table in enumerate(_tables(place.events)):
        producer.produce(topic, _written(table), partition=number % PARTITIONS, headers=HEADERS)
        producer.poll(0)
    producer.flush()
    return dataclasses.replace(place, topic=topic, end=topics.end(place.log, topic))


def _tables(events: int) -> Iterator[pa.Table]:
    """The same kind of events as in the plain topic, each pack with the keys of one partition."""
    random = np.random.default_rng(SEED)
    start = int(began().timestamp()) * 1_000_000
    names = np.array([key_of(number) for number in range(KEYS)])
    for number, first in enumerate(range(0, events, PACK)):
        seq = np.arange(first, min(first + PACK, events))
        keys = random.integers(0, KEYS // PARTITIONS, len(seq)) * PARTITIONS + number % PARTITIONS
        times = start + (seq * (SPREAD_SECONDS * 1_000_000 / events)).astype(np.int64)
        yield pa.table(
            {
                "time": pa.array(times).cast(pa.timestamp("us", "UTC")),
                "key": pa.array(names[keys]),
                "value": pa.array(random.integers(0, 1_000_000, len(seq)) / 100),
                "seq": pa.array(seq),
                "side": pa.array(np.where(seq % 2, "buy", "sell")),
            }
        )


def _written(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    written: bytes = sink.getvalue().to_pybytes()
    return written
