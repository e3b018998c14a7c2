"""Whoever can do jobs for a folder: the node that runs there, or, when none does, this process."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tarnbeck.errors import NotReady, UsageError
from tarnbeck.log import broker, topics
from tarnbeck.log.settings import LogSettings
from tarnbeck.node import progress, use, versions
from tarnbeck.node.loading import folder_of, load_custom, modules_in
from tarnbeck.node.lock import hold
from tarnbeck.node.logs import shared
from tarnbeck.node.progress import Watch
from tarnbeck.node.running import running
from tarnbeck.node.settings import Settings
from tarnbeck.node.versions import Office
from tarnbeck.schema.stream import Stream
from tarnbeck.serve.client import control as remote
from tarnbeck.serve.clock import now
from tarnbeck.serve.control import Control
from tarnbeck.store.definitions import own, stream_of
from tarnbeck.store.foreign import ROOT
from tarnbeck.store.sqlite import SQLiteStore


@contextlib.contextmanager
def control(folder: Path) -> Iterator[Control]:
    """A Control for this folder; without a running node, Spark (and the folder's own broker) run while it is used."""
    facts = running(folder)
    if facts is not None:
        yield remote(facts["url"], facts["token"])
        return
    if not (folder / "store" / "catalog.db").exists():
        raise UsageError(f"no tarnbeck in {folder}\n  start one: tarnbeck up APP.py, or name its folder: --folder")
    # Spark does not take a path of Delta's that is relative to where a command was called.
    folder = folder.absolute()
    with hold(folder), _log(folder) as log:
        yield _Alone(Settings(folder=folder, broker=log.bootstrap, properties=log.properties), log)


@contextlib.contextmanager
def _log(folder: Path) -> Iterator[LogSettings]:
    theirs = shared(folder, _streams(folder))
    if theirs is not None:
        yield theirs
        return
    if not (folder / "kafka").exists():
        raise UsageError(
            f"{folder} uses a broker of its own choice\n  start the node first: tarnbeck up APP.py --broker HOST:PORT"
        )
    found = broker.find(folder)
    started = found or broker.start(folder)
    try:
        yield started.settings
    finally:
        if found is None:
            started.stop()


def _streams(folder: Path) -> list[Stream]:
    store = SQLiteStore(folder / "store", now)
    try:
        return [stream_of(state) for state in store.streams().values()]
    finally:
        store.close()


class _Alone:
    """A Control inside this process: one Spark session, and a lake writer while a job may need the lake."""

    def __init__(self, settings: Settings, log: LogSettings) -> None:
        self.store = SQLiteStore(settings.store, now)
        self.settings, self.log = replace(settings, lake=self.store.meta(ROOT) or None), log
        load_custom(self.store)

    def status(self) -> dict[str, Any]:
        watch = Watch(self.log, self.store)
        watch.sample()
        streams, views = progress.streams(self.store, watch), progress.views(self.store, watch)
        return {"app": self.store.meta("app"), "url": None, "parts": [], "streams": streams, "views": views}

    def run(self, job: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if job.get("do") in versions.JOBS:
            yield {"result": versions.run(Office(self.store), job)}
            return
        # Spark is not needed for that, nor to ask for the status, and takes seconds to start.
        from tarnbeck.lake import layer as lake
        from tarnbeck.node.desk import Desk
        from tarnbeck.node.jobs import WITHOUT_LAKE
        from tarnbeck.node.work import answered
        from tarnbeck.spark.session import by_value, session

        yield {"step": "starting Spark"}
        by_value(modules_in(folder_of(self.store)))
        spark = session("alone", folder=self.settings.folder, master=self.settings.master)
        stop = threading.Event()
        failures: list[BaseException] = []
        writer = threading.Thread(
            target=lake.run,
            args=(spark, self.log, self.store, self.settings.lake_root, self.settings.folder, stop),
            kwargs={"told": lambda _: None, "failed": failures.append},
        )
        writer.start()
        follower = threading.Thread(target=use.run, args=(self.log, self.store, stop, lambda _: None, failures.append))
        follower.start()
        try:
            if job.get("do") not in WITHOUT_LAKE:
                yield {"step": "waiting for the lake"}
                self._await_lake(failures)
            yield from answered(Desk(spark, self.log, self.store, self.settings.lake_root, stop), job)
        finally:
            stop.set()
            for thread in (writer, follower):
                thread.join(timeout=30)
            spark.stop()

    def _await_lake(self, failures: list[BaseException]) -> None:
        pause = threading.Event()
        streams = own(self.store.streams())
        ends = {name: topics.end(self.log, stream_of(state).topic) for name, state in streams.items()}
        while not all(self.store.lake_cut(name).covers(end) for name, end in ends.items()):
            if failures:
                raise NotReady(f"the lake can't be brought up to date: {failures[-1]}") from failures[-1]
            pause.wait(0.2)
