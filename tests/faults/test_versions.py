"""Kill -9 in the middle of a replay, a verify, a switch and a drop: each is finished afterwards, with right answers."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import tarnbeck as tb
from tarnbeck.cli.place import store_of
from tarnbeck.log import broker
from tarnbeck.node.running import running
from tarnbeck.store import rules
from tests.faults.test_kill import APP, TARNBECK, Feed, audited, covered, folder, kill_all, up
from tests.waiting import PATIENCE, awaited

pytestmark = pytest.mark.crash

__all__ = ["folder"]

EVENTS = 20_000
SWITCH = ("switch", "minutes", "--reason", "one more each")
CHANGED = APP.replace('tb.sum("n")', 'tb.sum("n + 1")')


def command(data: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*TARNBECK, *words, "--folder", str(data)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def finished(data: Path, *words: str, code: int = 0) -> None:
    with command(data, *words) as process:
        assert process.wait(180) == code, words


def killed(data: Path, node: subprocess.Popen[str], *asking: subprocess.Popen[bytes]) -> None:
    """Kills the node and whoever asks it; the broker lives on, which dies often enough in other tests."""
    kept = broker.find(data)
    assert kept is not None
    kill_all(node, kept=kept.pid)
    for process in asking:
        process.kill()
        process.wait()


def pushed_through(data: Path, reached: Callable[[], bool], *words: str) -> None:
    """Asks where no node runs, so that the command does it all, and kills it a little later each time."""
    seconds = 0.3
    while not reached():
        assert seconds < PATIENCE, f"not done: {words}"
        with command(data, *words) as process:
            threading.Event().wait(seconds)
            process.kill()
            assert process.wait() in (0, -signal.SIGKILL), words
        seconds *= 1.25


def versions(data: Path) -> tuple[int, list[int], list[int]]:
    """Of the view that changed: the version that answers, all versions, and those that can answer."""
    with store_of(data) as store:
        own = [version for version in store.versions().values() if version.view == "minutes"]
        answerable = [version.id for version in own if rules.answerable(version)]
        return store.aliases()["minutes"], [version.id for version in own], answerable


def saved(data: Path) -> bool:
    """Whether a replay has come so far that there is something to lose."""
    con = sqlite3.connect(data / "store" / "catalog.db")
    try:
        return bool(con.execute("SELECT 1 FROM generations WHERE stage = 'saved'").fetchall())
    finally:
        con.close()


def started(data: Path) -> None:
    awaited(lambda: running(data) is not None, "the node did not start")


def test_what_a_kill_interrupts_is_finished_afterwards(folder: Path) -> None:
    rng, feed, app = random.Random(5), Feed(folder), folder.parent / "app.py"
    with up(folder) as node:
        started(folder)
        feed.send(EVENTS, rng)
        awaited(lambda: covered(folder), "the first events did not arrive")
        app.write_text(CHANGED)
        with command(folder, "deploy", str(app), "--max-rate", "1500") as deploying:
            awaited(lambda: saved(folder), "the replay did not begin")
            killed(folder, node, deploying)
    old, both, answerable = versions(folder)
    assert (len(both), answerable) == (2, [old])
    new = max(both)
    with up(folder) as node:
        started(folder)
        awaited(lambda: new in versions(folder)[2], "the replay was not gone on with")
        finished(folder, "verify", "minutes", code=1)
        with command(folder, "verify", "minutes") as verifying, command(folder, *SWITCH) as switching:
            threading.Event().wait(rng.uniform(0.3, 1.2))
            killed(folder, node, verifying, switching)
    assert versions(folder)[1:] == (both, both)
    pushed_through(folder, lambda: versions(folder)[0] == new, *SWITCH)
    pushed_through(folder, lambda: old not in versions(folder)[1], "drop", "minutes", "--version", str(old))
    with up(folder):
        started(folder)
        awaited(lambda: covered(folder), "the node did not catch up")
        assert versions(folder) == (new, [new], [new])
        assert audited(folder) == {"minutes": True, "ever": True}
        with tb.connect(folder) as client:
            rows = client.query("minutes").dicts()
            assert sum(row["n"] for row in rows) == feed.acknowledged
            assert sum(int(row["total"]) for row in rows) == feed.acknowledged * (feed.acknowledged + 1) // 2
