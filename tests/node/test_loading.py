"""The application is found in a user's file, and what is wrong there is told with the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tarnbeck.errors import TarnbeckError
from tarnbeck.node.loading import load

GOOD = "import tarnbeck as tb\napp = tb.App('a')\ns = app.stream('s', 'time timestamp', time='time')\n"


def test_the_one_app_of_a_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(GOOD + "same = app\n")
    assert load(tmp_path / "app.py").name == "a"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD + "app.view('v', s, select={'n': tb.sum('tyme')})\n", r"app\.py:4: view 'v'"),
        ("import tarnbeck as tb\napp = tb.App('a'\n", r"app\.py:2: "),
        ("1 / 0\n", r"app\.py:1: ZeroDivisionError"),
        ("x = 1\n", "declares no apps"),
        (GOOD + "other = tb.App('b')\n", "declares 2 apps"),
        ("import tarnbeck as tb\napp = tb.App('a')\n", "has no stream"),
    ],
    ids=["declaration", "syntax", "error", "none", "two", "empty"],
)
def test_what_is_wrong_is_told_with_its_place(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(text)
    with pytest.raises(TarnbeckError, match=message):
        load(tmp_path / "app.py")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(TarnbeckError, match="no file"):
        load(tmp_path / "none.py")
