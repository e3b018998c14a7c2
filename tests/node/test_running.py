"""Whether a node runs on a folder: a number that the system gave to somebody else is no node."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tarnbeck.log.process import command_of
from tarnbeck.node.running import running
from tests.waiting import awaited

Start = Callable[..., int]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts commands that wait for the test to end; gives the pid of each."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(*words: str) -> int:
        started.append(subprocess.Popen(words, stdin=subprocess.PIPE))
        pid = started[-1].pid
        # A process has a number before it has a command line.
        awaited(lambda: bool(command_of(pid)), "the process")
        return pid

    yield begin
    for each in started:
        each.communicate(b"\n")


def left(folder: Path, pid: int) -> dict[str, Any]:
    facts = {"pid": pid, "url": "http://127.0.0.1:1", "token": "t", "app": "shop", "broker": "127.0.0.1:9"}
    (folder / "node.json").write_text(json.dumps(facts))
    return facts


def test_a_node_that_runs_is_told_with_its_facts(tmp_path: Path, start: Start) -> None:
    facts = left(tmp_path, start(sys.executable, "-c", "input()", "tarnbeck"))
    assert running(tmp_path) == facts


def test_nothing_runs_where_nothing_was_started_or_where_it_ended(tmp_path: Path) -> None:
    assert running(tmp_path) is None
    ended = subprocess.Popen([sys.executable, "-c", "", "tarnbeck"])
    ended.wait()
    left(tmp_path, ended.pid)
    assert running(tmp_path) is None


def test_a_number_that_somebody_else_has_now_is_no_node(
    tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    left(tmp_path, start("cat"))
    assert running(tmp_path) is None

    def refused(pid: int, sign: int) -> None:
        raise PermissionError("the process of another user")

    with monkeypatch.context() as other:
        other.setattr(os, "kill", refused)
        assert running(tmp_path) is None
