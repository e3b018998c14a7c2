"""The work process: one niced Spark session for what may take long, so that live data never waits for it."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from typing import Any

from tarnbeck.errors import TarnbeckError
from tarnbeck.node import jobs
from tarnbeck.node.channel import READY, Message, Parent
from tarnbeck.node.desk import Desk
from tarnbeck.node.loading import load_shipped
from tarnbeck.serve.clock import now
from tarnbeck.spark.session import session
from tarnbeck.store.sqlite import SQLiteStore

NICE = 10
REST = "rest"
"""The lane of all other jobs, which wait for each other."""
CONF = {
    # One core and small splits: a task that reads for long would hold the core that live data needs.
    "spark.sql.files.maxPartitionBytes": "16MB",
}


def main() -> None:
    """Does jobs until the node closes the pipe, those of one lane one after another."""
    parent = Parent()
    os.nice(NICE)
    settings = parent.settings()
    if settings.app is not None:
        load_shipped(settings.app)
    spark = session("work", folder=settings.folder, master="local[1]", conf=CONF)
    settings = parent.settings()
    stop = threading.Event()
    desk = Desk(spark, settings.log(), SQLiteStore(settings.store, now), settings.lake_root, stop)
    workers = {name: _Worker(desk, parent) for name in (REST, *jobs.LANES.values())}
    parent.send({READY: True})
    for message in parent.messages():
        workers[jobs.LANES.get(message["job"].get("do"), REST)].waiting.put(message)
    stop.set()
    for worker in workers.values():
        worker.waiting.put(None)
    with contextlib.suppress(Exception):  # a job that is cut off is redone; a dead gateway has nothing to cancel
        spark.sparkContext.cancelAllJobs()
        for worker in workers.values():
            worker.thread.join(timeout=4)
        spark.stop()
    os._exit(0)


class _Worker:
    """A thread that does the jobs it is given, one after another."""

    def __init__(self, desk: Desk, parent: Parent) -> None:
        self._desk, self._parent = desk, parent
        self.waiting: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def _work(self) -> None:
        while (message := self.waiting.get()) is not None:
            for update in answered(self._desk, message["job"]):
                self._parent.send({"id": message["id"], **update})


def answered(desk: Desk, job: dict[str, Any]) -> Any:
    """A job's updates, the last of which is its result or the error it ended with."""
    try:
        yield from jobs.run(desk, job)
    except TarnbeckError as error:
        yield {"error": {"kind": type(error).__name__, "message": str(error)}}
    except Exception as error:  # the worker must live on; whoever asked gets the error
        yield {"error": {"kind": type(error).__name__, "message": f"{type(error).__name__}: {error}"[:4000]}}


if __name__ == "__main__":
    main()
