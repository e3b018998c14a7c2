"""Derived streams on the real broker: every event once, whoever stops, fails or comes second."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

import tarnbeck as tb
from tarnbeck.cut import Cut
from tarnbeck.derive import layer
from tarnbeck.derive.layer import Setting
from tarnbeck.errors import LogError
from tarnbeck.log import relay as relays
from tarnbeck.log import topics
from tarnbeck.log.broker import Broker
from tarnbeck.log.follow import Record, follow
from tarnbeck.log.produce import Sender
from tarnbeck.log.relay import Outgoing, relay
from tarnbeck.log.settings import LogSettings
from tarnbeck.node.register import register
from tarnbeck.serve.clock import now
from tarnbeck.store.sqlite import SQLiteStore
from tests.waiting import awaited

pytestmark = pytest.mark.broker


def application(topic: str) -> tb.App:
    app = tb.App(f"app{topic.replace('-', '')[-8:]}")
    orders = app.stream("orders", "time timestamp, n bigint", time="time")
    app.derive("even", orders, where="n % 2 = 0", select={"time": "time", "half": "n / 2"})
    return app


def send(log: LogSettings, app: tb.App, numbers: Sequence[int]) -> None:
    with Sender(log, app.streams["orders"]) as sender:
        for n in numbers:
            sender.send(b'{"time": "2026-03-01T00:00:00Z", "n": %d}' % n)


def held(log: LogSettings, topic: str) -> list[Record]:
    end = topics.end(log, topic)
    return list(follow(log, topic, Cut(end.topic), until=end))


def halves(log: LogSettings, app: tb.App) -> list[float]:
    records = held(log, app.streams["even"].topic)
    return sorted(json.loads(record.value or b"")["half"] for record in records)


@contextmanager
def running(work: Callable[[threading.Event], None]) -> Iterator[Future[None]]:
    stop = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(work, stop)
        try:
            yield done
        finally:
            stop.set()


def test_every_event_is_derived_once_through_stops(broker: Broker, topic_name: str, tmp_path: Path) -> None:
    log, app, store = broker.settings, application(topic_name), SQLiteStore(tmp_path / "store", now)
    register(app, store, log)
    failures: list[BaseException] = []
    for part in range(3):
        send(log, app, range(part * 1000, part * 1000 + 1000))
        expected = [n / 2 for n in range(0, part * 1000 + 1000, 2)]
        with running(lambda stop: layer.run(Setting(log, store, now, stop, lambda _: None, failures.append))):
            awaited(lambda: len(halves(log, app)) >= len(expected), "all derived")  # noqa: B023 (awaited within the loop)
        assert halves(log, app) == expected
    assert failures == []
    store.close()


def test_a_relay_that_dies_before_or_after_a_commit_loses_and_repeats_nothing(
    broker: Broker, topic_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, app = broker.settings, application(topic_name)
    source, target = app.streams["orders"], app.streams["even"]
    for stream in (source, target):
        topics.ensure(log, stream)
    begin = topics.beginning(log, source.topic)
    send(log, app, range(600))
    monkeypatch.setattr(relays, "MOST", 100)
    made = 0

    def dying(records: Sequence[Record]) -> Iterator[Outgoing]:
        nonlocal made
        for record in records:
            made += 1
            if made % 170 == 0:
                raise LogError("planted")
            yield Outgoing(record.value or b"", None, record.timestamp)

    def finished() -> bool:
        return len(held(log, target.topic)) >= 600

    deaths = 0
    while not finished():
        try:
            relay(log, source.topic, target.topic, begin, dying, stop=finished)
        except LogError as error:
            assert str(error) == "planted"  # noqa: PT017 (it may also end without)
            deaths += 1
    assert deaths > 2
    numbers = sorted(json.loads(record.value or b"")["n"] for record in held(log, target.topic))
    assert numbers == list(range(600))


def test_the_later_of_two_relays_shuts_the_earlier_out(broker: Broker, topic_name: str) -> None:
    log, app = broker.settings, application(topic_name)
    source, target = app.streams["orders"], app.streams["even"]
    for stream in (source, target):
        topics.ensure(log, stream)
    begin = topics.beginning(log, source.topic)

    def copy(records: Sequence[Record]) -> Iterator[Outgoing]:
        return (Outgoing(record.value or b"", None, record.timestamp) for record in records)

    def work(stop: threading.Event) -> None:
        relay(log, source.topic, target.topic, begin, copy, stop=stop.is_set)

    with running(work) as first:
        send(log, app, range(10))
        awaited(lambda: len(held(log, target.topic)) == 10, "10 records")
        numbers = itertools.count(10)

        def shut_out() -> bool:
            # The first finds out with the next record it writes once the second has begun, whenever that is.
            send(log, app, [next(numbers)])
            return first.done()

        with running(work):
            awaited(shut_out, "the first is shut out")
            # In which words the broker refuses depends on how far its transaction was.
            with pytest.raises(LogError, match=f"can't write topic '{target.topic}'"):
                first.result()
            sent = next(numbers)
            awaited(lambda: len(held(log, target.topic)) >= sent, "all records")
    assert sorted(json.loads(record.value or b"")["n"] for record in held(log, target.topic)) == list(range(sent))


def test_a_topic_that_something_else_was_sent_to_is_refused(broker: Broker, topic_name: str) -> None:
    log, app = broker.settings, application(topic_name)
    source = app.streams["orders"]
    topics.ensure(log, source)
    send(log, app, [1])
    with pytest.raises(LogError, match="was not derived from its source"):
        relays.reached(log, source.topic, topics.beginning(log, source.topic))
