"""A changed app under load: deployed, verified, switched, rolled back and dropped, while clients check every answer."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import tarnbeck as tb
from tarnbeck.log import broker
from tarnbeck.log.produce import Sender
from tarnbeck.node.loading import load
from tarnbeck.node.running import running
from tests.faults.test_kill import TARNBECK, covered, up
from tests.waiting import awaited

pytestmark = pytest.mark.crash

APP = """
import tarnbeck as tb

app = tb.App("changing")
events = app.stream("events", "time timestamp, n bigint", time="time", partitions=1)
app.view("sums", events, select={{"n": tb.count(), "total": tb.sum("{factor} * n")}})
app.view("most", events, select={{"n": tb.count(), "most": tb.max("{factor} * n")}})
"""
JOINED = "select sums.n as n, total, most from sums, most"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "app.py").write_text(APP.format(factor=1))
    data = tmp_path / "data"
    yield data
    left = broker.find(data)
    if left is not None:
        left.stop()


@contextmanager
def load_of_events(folder: Path) -> Iterator[None]:
    """Events numbered from 0 in one partition, so that a cut alone tells what a view must say."""
    found = broker.find(folder)
    assert found is not None
    stop = threading.Event()

    def send() -> None:
        number = 0
        with Sender(found.settings, load(folder.parent / "app.py").streams["events"]) as sender:
            while not stop.wait(0.05):
                for _ in range(20):
                    sender.send(json.dumps({"time": "2026-11-15T12:00:00Z", "n": number}).encode())
                    number += 1
                assert sender.flush().failed == 0

    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(send)
        try:
            yield
        finally:
            stop.set()
            sending.result()


def factor_of(n: int, total: int, most: int | None = None) -> int:
    """Which definition gave an answer over the first n events; an answer that neither gave is wrong."""
    for factor in (1, 2):
        if total == factor * n * (n - 1) // 2 and most in (None, factor * (n - 1)):
            return factor
    raise AssertionError(f"neither definition says this of {n} events: total {total}, most {most}")


class Clients:
    """Clients that ask without a pause, each in its own way; what each saw: the definitions that answered, in order."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url, self.stop = folder, url, threading.Event()
        self.seen: dict[str, list[int]] = {}
        self.running: list[Future[None]] = []
        self.asked = 0

    @contextmanager
    def asking(self) -> Iterator[None]:
        ways: dict[str, Callable[[tb.Client], int]] = {"query": self._query, "sql": self._sql}
        with ThreadPoolExecutor(4) as pool:
            self.running = [
                pool.submit(self._ask, f"{name} {where}", where, ways[name])
                for name in ways
                for where in (str(self.folder), self.url)
            ]
            try:
                yield
            finally:
                self.stop.set()
                for each in self.running:
                    each.result()

    def _ask(self, name: str, where: str, ask: Callable[[tb.Client], int]) -> None:
        seen = self.seen[name] = []
        with tb.connect(where) as client:
            while not self.stop.wait(0.1):
                factor = ask(client)
                self.asked += 1
                if seen[-1:] != [factor]:
                    seen.append(factor)

    @staticmethod
    def _query(client: tb.Client) -> int:
        answer = client.query("sums")
        (row,) = answer.dicts()
        assert row["n"] == answer.records, "an answer holds all events below its cut"
        return factor_of(row["n"], int(row["total"]))

    @staticmethod
    def _sql(client: tb.Client) -> int:
        (row,) = client.sql(JOINED).dicts()
        return factor_of(int(row["n"]), int(row["total"]), int(row["most"]))

    def await_all(self, factor: int) -> None:
        """Until every client has seen this definition; the error of one that was answered wrongly comes at once."""

        def reached() -> bool:
            for each in self.running:
                if each.done():
                    each.result()
            return all(seen[-1:] == [factor] for seen in self.seen.values()) and len(self.seen) == len(self.running)

        awaited(reached, f"not all see {factor}: {self.seen}")


def run(folder: Path, *words: str, code: int = 0) -> str:
    command = [*TARNBECK, *words, "--folder", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == code, (words, done.stdout, done.stderr)
    return done.stdout


def versions(folder: Path, view: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run(folder, "versions", view, "--json"))["views"][0]["versions"]
    return found


def test_clients_see_the_old_definition_then_the_new_one_and_never_anything_else(folder: Path) -> None:
    with up(folder, batch_every="20s"):
        awaited(lambda: running(folder) is not None, "the node did not start")
        facts = running(folder)
        assert facts is not None
        with load_of_events(folder):
            awaited(lambda: _answered(facts["url"]), "the first events did not arrive")
            clients = Clients(folder, facts["url"])
            with clients.asking():
                clients.await_all(1)
                (folder.parent / "app.py").write_text(APP.format(factor=2))
                told = run(folder, "deploy", str(folder.parent / "app.py"), "--max-rate", "20000")
                assert "select total: was sum(1 * n), now sum(2 * n)" in told
                assert "next: tarnbeck verify VIEW, then tarnbeck switch sums most" in told
                assert json.loads(run(folder, "verify", "sums", "--json", code=1))["columns"][0]["differs"] == 0
                run(folder, "switch", "sums", "most", "--reason", "doubled")
                clients.await_all(2)
                run(folder, "rollback", "sums")
                clients.await_all(1)
                run(folder, "switch", "sums", "most")
                clients.await_all(2)
                run(folder, "drop", "sums", "--version", str(versions(folder, "sums")[1]["version"]), code=3)
                run(folder, "drop", "sums")
                run(folder, "drop", "most")
                assert [each["state"] for each in versions(folder, "sums")] == ["live"]
            assert all(seen == [1, 2] * 2 for seen in clients.seen.values()), clients.seen
            assert clients.asked > 100
        awaited(lambda: covered(folder), "the layers did not reach the end")
        run(folder, "audit")


def _answered(url: str) -> bool:
    """Whether both views answer; the first SQL query of a server takes long on a busy machine."""
    with tb.connect(url) as client:
        try:
            return bool(client.query("sums").records and client.sql(JOINED).dicts())
        except tb.TarnbeckError:
            return False
