"""Kill -9 of everything at random moments, and lost checkpoints: nothing is lost, nothing is counted twice."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tarnbeck as tb
from tarnbeck.cli.place import store_of
from tarnbeck.log import broker, topics
from tarnbeck.log.produce import Sender
from tarnbeck.node.control import control
from tarnbeck.node.loading import load
from tarnbeck.node.running import running
from tarnbeck.serve.clock import now
from tarnbeck.store.sqlite import SQLiteStore
from tests.waiting import PATIENCE, awaited

pytestmark = pytest.mark.crash

TARNBECK = [sys.executable, "-m", "tarnbeck.cli.main"]
APP = """
import tarnbeck as tb

app = tb.App("crashes")
events = app.stream("events", "time timestamp, k string, n bigint", time="time", key="k")
app.view("minutes", events, by="k", window=tb.tumbling("1 minute"), select={"n": tb.count(), "total": tb.sum("n")})
app.view("ever", events, select={"n": tb.count(), "last": tb.last("n"), "most": tb.max("n")})
"""

FILES, ROWS = 20, 5_000
"""Files of older events, enough for several commits, and the rows of each."""


def add_history(folder: Path) -> int:
    """Files of older events for the app in a folder; gives the number of their rows."""
    (folder / "app.py").write_text(APP.replace('key="k"', 'key="k", history="old/*.csv"'))
    (folder / "old").mkdir()
    for number in range(FILES):
        rows = [f"2021-11-{number + 1:02d}T12:{row % 60:02d}:00Z,k{row % 7},{-row - 1}" for row in range(ROWS)]
        (folder / "old" / f"{number}.csv").write_text("\n".join(["time,k,n", *rows]))
    return FILES * ROWS


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "app.py").write_text(APP)
    data = tmp_path / "data"
    yield data
    left = broker.find(data)
    if left is not None:
        left.stop()


def children(pid: int) -> list[int]:
    """All processes below one, the youngest first."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            parent = int(path.read_text().rpartition(")")[2].split()[1])
            if parent == pid:
                child = int(path.parent.name)
                found += [*children(child), child]
    return found


@contextlib.contextmanager
def up(folder: Path, batch_every: str = "never") -> Iterator[subprocess.Popen[str]]:
    app = str(folder.parent / "app.py")
    command = [*TARNBECK, "up", app, "--port", "0", "--batch-every", batch_every, "--folder", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as node:
        threading.Thread(target=lambda: list(node.stdout or ()), daemon=True).start()
        try:
            yield node
        finally:
            node.send_signal(signal.SIGTERM)
            node.wait(PATIENCE)


def kill_all(node: subprocess.Popen[str], kept: int | None) -> None:
    """SIGKILL for the node, its processes and their JVMs at once; `kept` may live on."""
    victims = [pid for pid in [*children(node.pid), node.pid] if pid != kept]
    for pid in victims:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    node.wait(PATIENCE)


class Feed:
    """Sends numbered events until stopped; remembers how many the log has acknowledged."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.acknowledged = folder, 0
        self.stream = load(folder.parent / "app.py").streams["events"]

    def send(self, count: int, rng: random.Random) -> None:
        found = broker.find(self.folder)
        assert found is not None
        with Sender(found.settings, self.stream) as sender:
            for number in range(self.acknowledged, self.acknowledged + count):
                second = rng.randrange(600)
                event = {
                    "time": f"2026-11-15T12:{second // 60:02d}:{second % 60:02d}Z",
                    "k": f"k{number % 7}",
                    "n": number,
                }
                sender.send(json.dumps(event).encode())
            self.acknowledged += sender.flush().acknowledged


def covered(folder: Path, history: int = 0) -> bool:
    found = broker.find(folder)
    if found is None or not (folder / "store" / "catalog.db").exists():
        return False
    store = SQLiteStore(folder / "store", now)
    try:
        versions = store.versions().values()
        streams = store.streams()
        ends = {name: topics.end(found.settings, s.topic).with_history(history) for name, s in streams.items()}
        views = all(version.cut.covers(ends[version.stream]) for version in versions)
        return bool(versions) and views and all(store.lake_cut(name).covers(end) for name, end in ends.items())
    finally:
        store.close()


PROGRESS: dict[str, Callable[[SQLiteStore], Any]] = {
    "lake": lambda store: str(store.lake_cut("events")),
    "batch": lambda store: [version.generation for version in store.versions().values()],
}
"""What of the store each layer moves; the speed layer has moved when one of these does."""


def audited(folder: Path) -> dict[str, bool]:
    with control(folder) as node:
        *_, last = node.run({"do": "audit", "views": []})
    return {found["view"]: found["equal"] for found in last["result"]["views"]}


def test_kill_9_at_random_moments_loses_nothing_and_counts_nothing_twice(folder: Path) -> None:
    rng = random.Random(3)
    old = add_history(folder.parent)
    feed = Feed(folder)
    for layer, progress in PROGRESS.items():
        with up(folder, batch_every="5s") as node:
            awaited(lambda: running(folder) is not None, "the node did not start")
            with store_of(folder) as store:
                before = progress(store)
                sending = threading.Thread(target=feed.send, args=(20_000, rng))
                sending.start()
                awaited(lambda: progress(store) != before, f"no progress: {layer}")  # noqa: B023 (awaited here)
            # The layer is at work: a moment anywhere in what it does next, while the others do theirs.
            threading.Event().wait(rng.uniform(0, 3))
            sending.join()
            kill_all(node, kept=None)
        if layer == "lake":
            shutil.rmtree(folder / "checkpoints", ignore_errors=True)
    with up(folder):
        awaited(lambda: running(folder) is not None and covered(folder, old), "the node did not catch up")
        assert audited(folder) == {"minutes": True, "ever": True}
        with tb.connect(folder) as client:
            (ever,) = client.query("ever").dicts()
            count = feed.acknowledged + old
            assert ever == {"n": count, "last": ever["last"], "most": feed.acknowledged - 1}
            assert sum(row["n"] for row in client.query("minutes", limit=100_000)) == count
