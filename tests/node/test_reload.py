"""What a changed file means for a node that runs: whether it can be taken, and whether that needs a new start."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import tarnbeck as tb
from tarnbeck.errors import DeclarationError
from tarnbeck.node.check import check, declared
from tarnbeck.node.loading import load
from tarnbeck.node.node import Node
from tarnbeck.node.reload import Reload, needs_start, stamps
from tarnbeck.node.settings import Settings
from tarnbeck.serve.clock import now
from tarnbeck.store.foreign import APP
from tarnbeck.store.sqlite import SQLiteStore
from tests.serve.sample import register
from tests.waiting import PATIENCE, awaited

pytestmark = pytest.mark.long

FILE = """
import tarnbeck as tb

app = tb.App("shop")
orders = app.stream("orders", "time timestamp, pieces int", time="time")
app.view("total", orders, select={"orders": tb.count()})
"""
SPAN = """
class Span(tb.Custom):
    state = "low int, high int"
    returns = "int"

    def prepare(self, value):
        return value, value

    def merge(self, a, b):
        return min(a[0], b[0]), max(a[1], b[1])

    def finish(self, state):
        return state[1] - state[0]

app.view("spans", orders, select={"span": Span("pieces")})
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """An app's file, and beside it the store of a node that has started with it."""
    path = tmp_path / "app.py"
    path.write_text(FILE)
    remember(path)
    return path


def remember(path: Path) -> None:
    store = SQLiteStore(path.parent / "store", now)
    store.set_meta(APP, "shop")
    register(store, tb.App.of(load(path).definition()))
    store.close()


def checked(path: Path, text: str) -> dict[str, Any]:
    path.write_text(text)
    return check(path, path.parent).definition


def test_a_file_is_read_anew_with_all_that_it_imports_from_its_folder(file: Path) -> None:
    (file.parent / "words.py").write_text("NAME = 'old'\n")
    text = FILE + "import words\nprint('hello')\napp.view(words.NAME, orders, select={'n': tb.count()})\n"
    assert [view["name"] for view in checked(file, text)["views"]] == ["total", "old"]
    (file.parent / "words.py").write_text("NAME = 'renamed'\n")
    found = check(file, file.parent)
    assert [view["name"] for view in found.definition["views"]] == ["total", "renamed"]
    assert set(found.files) == {file, file.parent / "words.py"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (FILE + "1 / 0\n", "app.py:7: ZeroDivisionError"),
        (FILE + "app.view(\n", "app.py:7: "),
        (FILE + "import sys\nsys.exit(3)\n", "ended with code 3"),
        (FILE.replace("shop", "other"), "belongs to app 'shop'"),
        (FILE.replace("pieces int", "pieces string"), "can't change like this"),
        (FILE.replace('time="time"', "time=tb.arrival()"), "time: was"),
        (FILE.replace('time="time"', 'time="time", history="none/*.csv"'), "no file is meant"),
    ],
    ids=["error", "syntax", "exit", "other app", "narrower", "other time", "no files"],
)
def test_what_no_node_could_start_with_is_refused_with_the_reason(file: Path, text: str, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        checked(file, text)


def test_a_class_whose_code_changed_is_refused_as_long_as_a_view_needs_it(file: Path) -> None:
    file.write_text(FILE + SPAN)
    remember(file)
    with pytest.raises(DeclarationError, match="its code has changed"):
        checked(file, FILE + SPAN.replace("state[1] - state[0]", "state[0] - state[1]"))


def test_views_are_taken_by_a_running_node_all_else_needs_a_start(file: Path) -> None:
    before = checked(file, FILE)
    more = FILE + "app.view('more', orders, select={'n': tb.count()})\n"
    assert not needs_start(before, before)
    assert not needs_start(before, checked(file, more))
    assert not needs_start(checked(file, more), before)
    assert not needs_start(before, checked(file, FILE.replace("tb.count()", "tb.max('pieces')")))
    assert needs_start(before, checked(file, FILE.replace("pieces int", "pieces int, item string")))
    assert needs_start(before, checked(file, FILE + "app.stream('more', 'time timestamp', time='time')\n"))
    assert needs_start(before, checked(file, FILE.replace('"shop"', '"shop", mode="kappa"')))
    assert needs_start(before, checked(file, FILE + SPAN))
    told = "app.alert('many', app.views['total'], when='orders > 9', to=tb.webhook('http://localhost:1'))\n"
    with_alert = checked(file, FILE + told)
    assert needs_start(before, with_alert)
    assert needs_start(with_alert, checked(file, FILE + told.replace(":1'", ":2'")))
    assert not needs_start(with_alert, checked(file, more + told))
    with_class = checked(file, FILE + SPAN)
    assert not needs_start(with_class, checked(file, more + SPAN))


def test_errors_are_told_until_the_file_that_has_them_is_right_and_a_grown_stream_asks_for_a_start(file: Path) -> None:
    node = Node(Settings(file.parent), load(file))
    node.store = SQLiteStore(file.parent / "store", now)
    told: list[str] = []
    reload, stop = Reload(file), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        again = pool.submit(reload.follow, node, stop, told.append)
        try:
            (file.parent / "words_of_mine.py").write_text("1 / 0\n")
            file.write_text(FILE + "import words_of_mine\n")
            awaited(lambda: any("ZeroDivisionError" in line for line in told), "the error")
            (file.parent / "words_of_mine.py").write_text("\n")
            awaited(lambda: "app.py changed, its declarations did not" in told, "the module to be looked at")
            file.write_text(FILE.replace("pieces int", "pieces int, item string"))
            assert again.result(PATIENCE)
        finally:
            stop.set()
    assert told[-1] == "app.py changed more than views: starting again"
    node.store.close()


def test_a_file_that_is_written_replaced_or_gone_is_seen(tmp_path: Path) -> None:
    path, other = tmp_path / "app.py", tmp_path / "new.py"
    path.write_text("one")
    first = stamps([path])
    assert stamps([path]) == first
    other.write_text("one")
    other.replace(path)
    assert (second := stamps([path])) != first
    path.unlink()
    assert stamps([path]) not in (first, second)


def test_a_definition_stays_the_same_through_the_process_that_checks(file: Path) -> None:
    assert checked(file, FILE + SPAN) == declared(load(file))
