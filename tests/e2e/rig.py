"""One application on the real broker, Spark, lake and store, driven step by step; and the oracle that judges it."""

from __future__ import annotations

import functools
import json
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import tarnbeck as tb
from tarnbeck.batch import layer as batch
from tarnbeck.batch.audit import Audit
from tarnbeck.batch.audit import run as audited
from tarnbeck.batch.layer import Source
from tarnbeck.cut import Cut
from tarnbeck.derive import layer as derive
from tarnbeck.lake import layer as lake
from tarnbeck.log import topics
from tarnbeck.log.follow import Record, follow, of_records
from tarnbeck.log.produce import Sender
from tarnbeck.log.settings import LogSettings
from tarnbeck.memory.partials import Partial, partials, rows
from tarnbeck.node.register import register
from tarnbeck.plan.view import View
from tarnbeck.schema.decode import decode
from tarnbeck.schema.stream import Stream
from tarnbeck.serve.answer import Question, answers
from tarnbeck.serve.clock import now
from tarnbeck.speed import layer as speed
from tarnbeck.store.sqlite import SQLiteStore
from tarnbeck.testing.memory import rows_of
from tests.waiting import awaited


@dataclass(frozen=True)
class Rig:
    """What a test drives: nothing runs unless a step is asked for."""

    app: tb.App
    log: LogSettings
    spark: Any
    folder: Path

    @property
    def store(self) -> SQLiteStore:
        return SQLiteStore(self.folder / "store", now)

    @property
    def root(self) -> str:
        return str(self.folder / "lake")

    def register(self) -> None:
        register(self.app, self.store, self.log)

    def send(self, stream: str, values: list[bytes]) -> None:
        with Sender(self.log, self.app.streams[stream]) as sender:
            for value in values:
                sender.send(value)
            assert sender.flush().failed == 0

    def send_events(self, stream: str, events: list[dict[str, Any]]) -> None:
        """Sends events into the partitions of their keys."""
        with Sender(self.log, self.app.streams[stream]) as sender:
            for event in events:
                sender.send_event(event)
            assert sender.flush().failed == 0

    def ends(self) -> dict[str, Cut]:
        return {name: topics.end(self.log, stream.topic) for name, stream in self.app.streams.items()}

    def speed(self) -> None:
        """Runs the speed layer from wherever the store is to the log's end as of now."""
        with self.feeding():
            self.await_speed()

    @contextmanager
    def feeding(self) -> Iterator[None]:
        """The speed layer runs."""
        with self._running(self._speed):
            yield

    def await_speed(self) -> None:
        """Waits until every version covers the log's end as of now."""
        ends = self.ends()
        awaited(lambda: self._covered(ends), "speed at its end")

    def derive(self, expected: dict[str, int]) -> None:
        """Runs the speed layer and what feeds derived streams, until these hold so many events and views cover all."""

        def feed(stop: threading.Event, failed: Callable[[BaseException], None]) -> None:
            derive.run(derive.Setting(self.log, self.store, now, stop, lambda _: None, failed))

        with self._running(self._speed), self._running(feed):
            awaited(
                lambda: all(len(self.records(name)) >= count for name, count in expected.items()),
                "derive at its end",
            )
            self.await_speed()

    def _speed(self, stop: threading.Event, failed: Callable[[BaseException], None]) -> None:
        told = lambda _: None  # noqa: E731 (nobody listens)
        speed.run(self.spark, self.log, self.store, self.folder, stop, told=told, failed=failed, most=500)

    def _covered(self, ends: dict[str, Cut]) -> bool:
        return all(version.cut.covers(ends[version.stream]) for version in self.store.versions().values())

    def records(self, stream: str) -> list[Record]:
        """The records of a stream, in the order of the log."""
        end = topics.end(self.log, self.app.streams[stream].topic)
        return list(follow(self.log, self.app.streams[stream].topic, Cut(end.topic), until=end))

    def mirror(self) -> None:
        """Runs the lake writer to the log's end as of now."""
        with self.mirroring():
            self.await_lake()

    @contextmanager
    def mirroring(self) -> Iterator[None]:
        """The lake writer runs."""
        with self._running(
            lambda stop, failed: lake.run(
                self.spark,
                self.log,
                self.store,
                self.root,
                self.folder,
                stop,
                told=lambda _: None,
                failed=failed,
                trigger="0 seconds",
            )
        ):
            yield

    def await_lake(self) -> None:
        """Waits until the lake covers the log's end as of now."""
        store, ends = self.store, self.ends()
        awaited(lambda: all(store.lake_cut(name).covers(end) for name, end in ends.items()), "lake at its end")

    def batch(self, view: str, *, full: bool) -> batch.Done:
        store = self.store
        source = Source(self.spark, self.log, store, self.root)
        return batch.run(source, store.aliases()[view], full=full, step=lambda _: None, stop=threading.Event())

    def audit(self, view: str) -> Audit:
        return audited(Source(self.spark, self.log, self.store, self.root), view, step=lambda _: None)

    @contextmanager
    def _running(self, part: Callable[[threading.Event, Callable[[BaseException], None]], None]) -> Iterator[None]:
        stop, failures = threading.Event(), list[BaseException]()
        with ThreadPoolExecutor(1) as pool:
            done = pool.submit(part, stop, failures.append)
            try:
                yield
            finally:
                stop.set()
                done.result()
        assert not failures, failures

    def answered(self, view: str, level: str) -> tuple[Cut, list[dict[str, Any]]]:
        (found,) = answers(self.store, [Question(view, per=level, limit=1_000_000)])
        return found.cut, found.dicts()

    def oracle(self, view: str, level: str, cut: Cut) -> list[dict[str, Any]]:
        """The view recounted in plain Python from the raw records of the log up to the cut."""
        plan = self.app.views[view]
        return rows_of(plan, _recounted(self.log, plan, cut), plan.window.levels.index(level))


@functools.lru_cache(maxsize=32)
def _recounted(log: LogSettings, view: View, cut: Cut) -> Partial:
    """Kept for all levels, and for later looks: what is below a cut never changes."""
    return partials(view, _events(log, view.stream, cut))


@functools.lru_cache(maxsize=8)
def _events(log: LogSettings, stream: Stream, cut: Cut) -> list[dict[str, Any]]:
    found = list(follow(log, stream.topic, Cut(cut.topic), until=cut))
    return list(rows(decode(stream, of_records(found)).events))


def values(rng: random.Random, count: int) -> list[bytes]:
    """Events as anybody sends them: some late, some with nulls, some broken, keys that repeat."""
    found = []
    for _ in range(count):
        if rng.random() < 0.03:
            found.append(rng.choice([b"{", b'{"time": "yesterday"}', b"\xff\xfe", b"[]", b'{"k": "no time"}']))
            continue
        late = timedelta(seconds=rng.choice([0, 0, 0, rng.randrange(90_000)]))
        time = datetime(2026, 10, 25, 12, tzinfo=UTC) + timedelta(milliseconds=rng.randrange(3_600_000)) - late
        event = {
            "time": time.isoformat().replace("+00:00", "Z"),
            "k": rng.choice(["a", "b", "c", None]),
            "price": None if rng.random() < 0.1 else rng.randrange(10**6) / 100,
            "n": rng.randrange(-(2**63), 2**63),
            "x": rng.uniform(-1e3, 1e3),
        }
        found.append(json.dumps(event).encode())
    return found
