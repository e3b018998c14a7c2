"""A steady flow of new events from a process of its own, which tells when it sent each of the probes among them."""

from __future__ import annotations

import datetime
import multiprocessing
import time
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from types import TracebackType
from typing import Self

import numpy as np
import numpy.typing as npt

from bench.declared import KEYS, key_of, partition_of
from tarnbeck.log.settings import LogSettings

RATE = 1000
"""Events per second."""
PROBE = "probe"
"""The key of every tenth event: a query for it shows how new the newest visible event is."""
PROBE_EVERY = 10
TICK = 0.002

Stamps = npt.NDArray[np.int64]
"""Microseconds since 1970; a probe's `seq` is the moment at which it was handed to the Kafka client."""


class Feed:
    """Sends while it is open: `with Feed(...) as feed: ...`; then `feed.probes` says when each probe was sent."""

    def __init__(self, log: LogSettings, topic: str) -> None:
        context = multiprocessing.get_context("spawn")
        self._stop = context.Event()
        self._mine, theirs = context.Pipe(duplex=False)
        self._process = context.Process(target=_send, args=(log, topic, self._stop, theirs))
        self.probes: Stamps = np.empty(0, np.int64)

    def __enter__(self) -> Self:
        self._process.start()
        self._mine.recv()
        return self

    def stop(self) -> None:
        """Ends the flow and takes over what was sent."""
        self._stop.set()
        self.probes = np.array(self._mine.recv(), np.int64)
        self._process.join()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.is_alive() and not self._stop.is_set():
            self.stop()


def _send(log: LogSettings, topic: str, stop: Event, told: Connection) -> None:
    from confluent_kafka import Producer

    from bench.fill import event

    producer = Producer({**log.client(), "linger.ms": 1})
    producer.list_topics(topic, timeout=10)
    told.send("ready")
    probes: list[int] = []
    began, sent = time.monotonic(), 0
    starter = multiprocessing.parent_process()
    while starter is not None and starter.is_alive() and not stop.wait(TICK):
        due = int((time.monotonic() - began) * RATE)
        for number in range(sent, due):
            stamp = time.time_ns() // 1000
            moment = datetime.datetime.fromtimestamp(stamp / 1e6, datetime.UTC)
            if number % PROBE_EVERY == 0:
                producer.produce(topic, event(moment, PROBE, 100, stamp), PROBE, partition=0)
                probes.append(stamp)
            else:
                key = number * 7 % KEYS
                producer.produce(topic, event(moment, key_of(key), 100, stamp), key_of(key), partition_of(key))
        sent = due
        producer.poll(0)
    producer.flush()
    told.send(probes)
