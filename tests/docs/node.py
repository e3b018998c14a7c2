"""The one node that all pages are run against: the app of the quick start, started as the quick start says."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tarnbeck.node.control import control
from tarnbeck.node.running import running
from tests.docs.pages import blocks
from tests.docs.shell import Terminal

UP = "tarnbeck up shop.py"
SEND = "tarnbeck send orders orders.ndjson"
WRITES = ("tarnbeck send", "quarantine retry", "/events")
QUICKSTART = "docs/quickstart.md"
STARTS_WITHIN = 300.0
SETTLES_WITHIN = 300.0


@dataclass(frozen=True)
class Documented:
    """A running node, and what the commands printed that are run once, whatever page shows them."""

    terminal: Terminal
    printed: Mapping[str, str]

    def run(self, command: str) -> str:
        """The output of a command; one that writes returns when every layer has taken what it wrote."""
        if command in self.printed:
            return self.printed[command]
        output = self.terminal.run(command)
        if any(word in command for word in WRITES):
            settle(self.terminal.folder)
        return output


@contextmanager
def documented(folder: Path) -> Iterator[Documented]:
    """Starts the node, sends the first events, and stops the node on the way out."""
    write_files(QUICKSTART, folder)
    output = folder / "up.out"
    with output.open("wb") as out, _started([*shlex.split(UP), "--port", "0"], folder, out) as process:
        server = _await_ready(process, folder, output)
        terminal = Terminal(folder, server)
        sent = terminal.run(SEND)
        settle(folder)
        yield Documented(terminal, {UP: output.read_text(), SEND: sent})


@contextmanager
def _started(words: list[str], folder: Path, out: object) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "tarnbeck.cli.main", *words[1:]]
    with subprocess.Popen(command, cwd=folder, stdout=out, stderr=subprocess.STDOUT) as process:  # type: ignore[call-overload]
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(120)


def write_files(page: str, folder: Path) -> None:
    """Writes the blocks of a page that are files; pages that show the same file must show the same content."""
    for block in blocks(page):
        if block.file is None:
            continue
        path = folder / block.file
        if path.exists():
            assert path.read_text() == block.text, f"{page}:{block.line}: another page shows another {block.file}"
        path.write_text(block.text)


def _await_ready(process: subprocess.Popen[bytes], folder: Path, output: Path) -> str:
    deadline, pause = time.monotonic() + STARTS_WITHIN, threading.Event()
    while "ready: " not in output.read_text():
        assert process.poll() is None, f"the node ended:\n{output.read_text()}"
        assert time.monotonic() < deadline, f"the node is not ready:\n{output.read_text()}"
        pause.wait(0.2)
    facts = running(folder / ".tarnbeck")
    assert facts is not None
    return urlsplit(str(facts["url"])).netloc


def settle(folder: Path) -> None:
    """Waits until the lake and every view have reached the end of the log."""
    deadline, pause = time.monotonic() + SETTLES_WITHIN, threading.Event()
    with control(folder / ".tarnbeck") as node:
        while True:
            behind = _behind(node.status())
            # The end of the log is sampled once a second: only a sample that is new can tell of what was just sent.
            pause.wait(1.2 if not behind else 0.2)
            if not behind and not _behind(node.status()):
                return
            assert time.monotonic() < deadline, f"still behind: {behind}"


def _behind(status: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in (*status["streams"], *status["views"]) if each["lag_records"]]
