"""The node loads older events by itself: it goes on after a crash, and leaves to a person what a person must decide."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tarnbeck as tb
from tarnbeck.cut import Cut
from tarnbeck.errors import DeclarationError
from tarnbeck.log.settings import LogSettings
from tarnbeck.node import node as module
from tarnbeck.node.loading import FILE
from tarnbeck.node.node import Node
from tarnbeck.node.register import register
from tarnbeck.node.settings import Settings
from tarnbeck.store.protocol import HISTORY
from tarnbeck.store.sqlite import SQLiteStore
from tests.serve.sample import register as registered

DIED: dict[str, Any] = {"error": {"kind": "SetupError", "message": "the work process ended"}}
CHANGED: dict[str, Any] = {"error": {"kind": "LakeError", "message": "'a.csv' has changed\n  bring it back"}}
LOADED: dict[str, Any] = {"result": {"stream": "events", "rows": 7, "files": 1, "quarantined": 0}}


def application() -> tb.App:
    app = tb.App("old")
    events = app.stream("events", "time timestamp", time="time", history="data/*.csv")
    app.view("n", events, select={"n": tb.count()})
    return app


class Scripted(Node):
    """A node whose work process says what it is told to."""

    def __init__(self, folder: Path, *answers: dict[str, Any]) -> None:
        app = application()
        super().__init__(Settings(folder), app)
        self.store = SQLiteStore(folder / "store", lambda: 0)
        registered(self.store, app)
        self.answers, self.asked, self.said = list(answers), list[dict[str, Any]](), list[str]()
        self._tell = self.said.append

    def run(self, job: dict[str, Any]) -> Iterator[dict[str, Any]]:
        self.asked.append(job)
        yield {"result": {"views": []}} if job["do"] == "batch" else self.answers.pop(0)


def loaded(store: SQLiteStore, rows: int) -> None:
    have = Cut("topic-id")
    intent = store.open_intent(store.take_token(HISTORY), "events", have, have.with_history(rows))
    assert intent is not None
    store.close_intent(intent)


def test_what_was_cut_off_is_gone_on_with_and_then_views_take_it_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RESUMES_AFTER", 0)
    node = Scripted(tmp_path, DIED, LOADED)
    loaded(node.store, 7)
    node._load_history()
    assert node.asked == [{"do": "history", "stream": "events"}] * 2 + [{"do": "batch", "views": ["n"]}]
    assert node.said == ["history: the work process ended", "history: events has 7 rows of 1 files in the lake"]
    assert not node._errors
    node.store.close()


def test_a_file_that_changed_is_told_and_not_tried_again(tmp_path: Path) -> None:
    node = Scripted(tmp_path, CHANGED)
    node._load_history()
    assert node.asked == [{"do": "history", "stream": "events"}]
    assert node.said == ["history: 'a.csv' has changed"]
    assert node._errors == {"history": CHANGED["error"]["message"]}
    node.store.close()


def test_a_name_that_means_no_file_is_refused_unless_its_files_were_loaded_once(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "store", lambda: 0)
    store.set_meta(FILE, str(tmp_path / "app.py"))
    with pytest.raises(DeclarationError, match=r"no file is meant by 'data/\*.csv'\n  names are relative to /"):
        register(application(), store, LogSettings("nowhere:1"))
    store.close()
