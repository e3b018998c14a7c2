"""The live process: one Spark session for the speed layer and the lake writer, and what else must go on."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from tarnbeck.derive import layer as derive
from tarnbeck.lake import layer as lake
from tarnbeck.node import use
from tarnbeck.node.channel import READY, Parent
from tarnbeck.node.loading import load_shipped
from tarnbeck.node.settings import Settings
from tarnbeck.serve.clock import now
from tarnbeck.spark.session import session
from tarnbeck.speed import layer as speed
from tarnbeck.store.sqlite import SQLiteStore

EVERY = 0.5
"""Seconds between two reports of progress."""


class Report:
    """Sums up what the layers did since the last report, so that a busy layer does not flood the pipe."""

    def __init__(self, parent: Parent) -> None:
        self._parent, self._lock = parent, threading.Lock()
        self._counts: dict[str, tuple[int, int]] = {}
        self._since = time.monotonic()

    def add(self, part: str, records: int, size: int = 0) -> None:
        with self._lock:
            before = self._counts.get(part, (0, 0))
            self._counts[part] = before[0] + records, before[1] + size

    def failed(self, part: str) -> Callable[[BaseException], None]:
        def tell(error: BaseException) -> None:
            message = str(error).strip() or type(error).__name__
            self._parent.send({"part": part, "failed": message[:2000], "kind": type(error).__name__})

        return tell

    def flush(self) -> None:
        with self._lock:
            counts, self._counts = self._counts, {}
            now = time.monotonic()
            seconds, self._since = now - self._since, now
        self._parent.send({"counts": counts, "seconds": seconds})


def main() -> None:
    """Runs both layers until the node closes the pipe."""
    parent = Parent()
    settings = parent.settings()
    if settings.app is not None:
        load_shipped(settings.app)
    spark = session("live", folder=settings.folder, master=settings.master)
    settings = parent.settings()
    stop, report = threading.Event(), Report(parent)
    threads = [threading.Thread(target=part, name=name) for name, part in _parts(spark, settings, stop, report).items()]
    for thread in threads:
        thread.start()
    parent.send({READY: True})
    ticker = threading.Thread(target=_tick, args=(report, stop), daemon=True)
    ticker.start()
    for _ in parent.messages():
        pass
    stop.set()
    for thread in threads:
        thread.join(timeout=8)
    with contextlib.suppress(Exception):  # a gateway that died with the session has nothing left to stop
        spark.stop()
    # Python would wait for Spark's own threads; everything that matters is committed or will be redone.
    os._exit(0)


def _parts(spark: Any, settings: Settings, stop: threading.Event, report: Report) -> dict[str, Callable[[], None]]:
    log, folder = settings.log(), settings.folder

    def feed() -> None:
        speed.run(
            spark,
            log,
            SQLiteStore(settings.store, now),
            folder,
            stop,
            told=lambda progress: report.add("speed", progress.records, progress.bytes),
            failed=report.failed("speed"),
        )

    def mirror() -> None:
        lake.run(
            spark,
            log,
            SQLiteStore(settings.store, now),
            settings.lake_root,
            folder,
            stop,
            told=lambda progress: report.add("lake", progress.records, progress.bytes),
            failed=report.failed("lake"),
        )

    def derived() -> None:
        store = SQLiteStore(settings.store, now)
        derive.run(
            derive.Setting(
                log, store, now, stop, lambda records: report.add("derive", records), report.failed("derive")
            )
        )

    def follow() -> None:
        use.run(
            log,
            SQLiteStore(settings.store, now),
            stop,
            told=lambda records: report.add("use", records),
            failed=report.failed("use"),
        )

    return {"speed": feed, "lake": mirror, "derive": derived, "use": follow}


def _tick(report: Report, stop: threading.Event) -> None:
    while not stop.wait(EVERY):
        report.flush()


if __name__ == "__main__":
    main()
