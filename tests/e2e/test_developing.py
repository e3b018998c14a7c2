"""A day of developing: a new app is made, run, asked, examined and drawn; its file is broken, and changed twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import tarnbeck as tb
from tarnbeck.log import broker
from tarnbeck.node.running import running
from tests.docs.node import settle
from tests.docs.notebooks import NOTEBOOKS, cells, executed
from tests.docs.pages import blocks_of
from tests.docs.shell import Shown, Terminal, matches, shown
from tests.waiting import PATIENCE, awaited

pytestmark = pytest.mark.demo

TARNBECK = [sys.executable, "-m", "tarnbeck.cli.main"]
SOON = 30.0
"""Seconds that stopping may take on a busy machine."""


class Developing:
    """An app's folder, the process that runs it, and what that has told so far."""

    def __init__(self, folder: Path, up: subprocess.Popen[str]) -> None:
        self.folder, self.file, self.up = folder, folder / "app.py", up
        self.lines: list[str] = []

    def read(self) -> None:
        assert self.up.stdout is not None
        self.lines.extend(iter(self.up.stdout.readline, ""))

    def await_told(self, words: str, times: int = 1) -> None:
        def told() -> bool:
            assert self.up.poll() is None, "".join(self.lines)
            return sum(words in line for line in self.lines) >= times

        awaited(told, f"to be told '{words}' after {''.join(self.lines)}")

    def edit(self, *changes: tuple[str, str]) -> None:
        text = self.file.read_text()
        for before, after in changes:
            assert before in text
            text = text.replace(before, after)
        self.file.write_text(text)

    @property
    def url(self) -> str:
        return str(self.facts["url"])

    @property
    def facts(self) -> dict[str, Any]:
        facts = running(self.folder / ".tarnbeck")
        assert facts is not None
        return facts

    def rows(self, view: str, **question: Any) -> list[dict[str, Any]]:
        with tb.connect(self.folder / ".tarnbeck") as client:
            return client.query(view, **question).dicts()

    def run(self, *words: str) -> Any:
        command = [*TARNBECK, *words, "--json"]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)


@contextmanager
def developing(here: Path) -> Iterator[Developing]:
    """A new app, as `init` makes it, while it runs."""
    subprocess.run([*TARNBECK, "init", "shop"], cwd=here, check=True)
    command = [*TARNBECK, "up", "--reload", "--port", "0", "--batch-every", "never"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "bufsize": 1}
    with subprocess.Popen(command, cwd=here / "shop", **pipes) as up:
        app = Developing(here / "shop", up)
        reader = threading.Thread(target=app.read)
        reader.start()
        try:
            app.await_told("watching app.py")
            yield app
        finally:
            up.send_signal(signal.SIGINT)
            up.wait(PATIENCE)
            reader.join()
            left = broker.find(app.folder / ".tarnbeck")
            if left is not None:
                left.stop()


def test_a_new_app_is_asked_examined_drawn_and_changed_and_nothing_is_lost(tmp_path: Path) -> None:
    with developing(tmp_path) as app:
        runs_as_its_readme_says(app)
        found = {each["check"]: each for each in app.run("doctor")["checks"]}
        assert found["app"]["found"] == f"app 'shop' at {app.url}: every part runs"
        assert found["broker"]["state"] == "well"
        is_drawn_by_the_notebook(app, tmp_path)

        before = app.rows("sales", item="tea", per="day")
        whole = app.file.read_text()
        app.file.write_text(f"{whole}\n1 / 0\n")
        app.await_told("ZeroDivisionError")
        assert app.rows("sales", item="tea", per="day") == before

        app.file.write_text(f'{whole}\napp.view("items", orders, by="item", select={{"orders": tb.count()}})\n')
        app.await_told("built: items version 3")
        assert {row["item"]: row["orders"] for row in app.rows("items")} == {"tea": 5, "honey": 2, "cocoa": 15}
        app.edit(('tb.sum("price * pieces")', 'tb.sum("2 * price * pieces")'))
        app.await_told("switched: sales from version 1 to 4")
        doubled = app.rows("sales", item="tea", per="day")
        assert [row["turnover"] for row in doubled] == [2 * row["turnover"] for row in before]

        known = app.url, app.facts["token"]
        app.edit(("2 * price * pieces", "price * pieces"), ("pieces int", "pieces int, note string"))
        app.await_told("starting again")
        app.await_told("stream 'orders' has new columns")
        app.await_told("switched: sales from version 4 to 1")
        assert app.rows("sales", item="tea", per="day") == before
        assert (app.url, app.facts["token"]) == known
        assert all(view["equal"] for view in app.run("audit")["views"])

        app.up.send_signal(signal.SIGINT)
        assert app.up.wait(SOON) == 0
    assert app.lines[-1].endswith("stopped\n")


def runs_as_its_readme_says(app: Developing) -> None:
    terminal = Terminal(app.folder, urlsplit(app.url).netloc)
    readme = blocks_of((app.folder / "README.md").read_text())
    commands = [each for block in readme for each in shown(block.text)]
    for command in ("send", "query"):
        for each in _of(command, commands):
            found = terminal.run(each.command)
            assert matches(each.output, found), found
        settle(app.folder)


def _of(command: str, commands: list[Shown]) -> list[Shown]:
    found = [each for each in commands if each.command.split()[1] == command]
    assert found
    return found


def is_drawn_by_the_notebook(app: Developing, folder: Path) -> None:
    (notebook,) = NOTEBOOKS
    out = executed(notebook, folder, TARNBECK_URL=app.url, TARNBECK_SECONDS="3")
    outputs = [output for cell in cells(out) for output in cell["outputs"]]
    pictures = ["".join(output["data"].get("image/svg+xml", "")) for output in outputs if "data" in output]
    assert any("<rect" in picture for picture in pictures)
    (said,) = ["".join(output["text"]) for output in outputs if "drawn" in "".join(output.get("text", ""))]
    assert int(said.split()[1]) >= 2
    settle(app.folder)
    (sold,) = app.rows("sales", item="cocoa", every="all")
    assert sold["orders"] == 15
