"""Kill -9 in the middle of a replay, a verify, a switch and a drop: each is finished afterwards, with right answers."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import threading
from pathlib import Path

import pytest

import tarnbeck as tb
from tarnbeck.cli.place import store_of
from tarnbeck.node.running import running
from tarnbeck.store import rules
from tests.faults.test_kill import APP, TARNBECK, Feed, audited, covered, folder, kill_all, up, wait_for

pytestmark = pytest.mark.crash

__all__ = ["folder"]

EVENTS = 20_000
CHANGED = APP.replace('tb.sum("n")', 'tb.sum("n + 1")')


def command(data: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*TARNBECK, *words, "--folder", str(data)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def finished(data: Path, *words: str, code: int = 0) -> None:
    with command(data, *words) as process:
        assert process.wait(180) == code, words


def killed(data: Path, node: subprocess.Popen[str], rng: random.Random, *words: str) -> None:
    """Kills everything, the command too, while it is at work."""
    with command(data, *words) as process:
        threading.Event().wait(rng.uniform(0.3, 1.2))
        kill_all(node, kept=None)
        process.kill()


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
    wait_for(lambda: running(data) is not None, "the node did not start")


def test_what_a_kill_interrupts_is_finished_afterwards(folder: Path) -> None:
    rng, feed, app = random.Random(5), Feed(folder), folder.parent / "app.py"
    with up(folder) as node:
        started(folder)
        feed.send(EVENTS, rng)
        wait_for(lambda: covered(folder), "the first events did not arrive")
        app.write_text(CHANGED)
        with command(folder, "deploy", str(app), "--max-rate", "1500") as deploying:
            wait_for(lambda: saved(folder), "the replay did not begin")
            kill_all(node, kept=None)
            deploying.kill()
    old, both, answerable = versions(folder)
    assert (len(both), answerable) == (2, [old])
    new = max(both)
    with up(folder) as node:
        started(folder)
        wait_for(lambda: new in versions(folder)[2], "the replay was not gone on with")
        killed(folder, node, rng, "verify", "minutes")
    with up(folder) as node:
        started(folder)
        finished(folder, "verify", "minutes", code=1)
        killed(folder, node, rng, "switch", "minutes", "--reason", "one more each")
    with up(folder) as node:
        started(folder)
        if versions(folder)[0] == old:
            finished(folder, "switch", "minutes", "--reason", "one more each")
        assert versions(folder)[0] == new
        killed(folder, node, rng, "drop", "minutes", "--version", str(old))
    with up(folder):
        started(folder)
        if old in versions(folder)[1]:
            finished(folder, "drop", "minutes", "--version", str(old))
        wait_for(lambda: covered(folder), "the node did not catch up")
        assert versions(folder) == (new, [new], [new])
        assert audited(folder) == {"minutes": True, "ever": True}
        with tb.connect(folder) as client:
            rows = client.query("minutes").dicts()
            assert sum(row["n"] for row in rows) == feed.acknowledged
            assert sum(int(row["total"]) for row in rows) == feed.acknowledged * (feed.acknowledged + 1) // 2
