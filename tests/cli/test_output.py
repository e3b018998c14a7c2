"""How commands show what they show: JSON from each of them, colours for nobody but a person who wants them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from tarnbeck.cli.main import application, main
from tarnbeck.serve.clock import now
from tarnbeck.store.sqlite import SQLiteStore
from tests.docs.shell import on_terminal
from tests.serve.sample import register, shop

pytestmark = pytest.mark.long

TARNBECK = [sys.executable, "-m", "tarnbeck.cli.main"]
WITHOUT = {
    "demo": "runs until it is stopped, and tells what it does meanwhile; what it shows can be asked for",
    "up": "runs until it is stopped; status, query and all others say in JSON what it does",
}
"""Commands without --json, and why."""
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def commands(group: Any, words: tuple[str, ...] = ()) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, command in group.commands.items():
        found |= (
            commands(command, (*words, name)) if hasattr(command, "commands") else {" ".join((*words, name)): command}
        )
    return found


ALL = commands(typer.main.get_command(application()))


@pytest.mark.parametrize("name", ALL)
def test_a_command_that_shows_something_can_show_it_as_json(name: str) -> None:
    options = {option for parameter in ALL[name].params for option in parameter.opts}
    assert ("--json" in options) != (name in WITHOUT), WITHOUT.get(name, "it has no --json, and no reason is declared")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("here")
    store = SQLiteStore(here / "store", now)
    register(store, shop())
    store.close()
    return here


@pytest.mark.parametrize(
    "words", [("status",), ("versions",), ("version",), ("doctor",), ("down",), ("example",)], ids=" ".join
)
def test_json_is_one_line_of_json_and_nothing_else(
    words: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = () if words == ("version",) else ("--folder", str(folder))
    with pytest.raises(SystemExit):
        main([*words, "--json", *place])
    (line,) = capsys.readouterr().out.splitlines()
    assert isinstance(json.loads(line), dict)


@pytest.mark.parametrize("words", [("--help",), ("status",), ("versions",), ("query", "none")], ids=" ".join)
def test_in_a_pipe_there_are_no_colours(words: tuple[str, ...], folder: Path) -> None:
    environment = {**os.environ, "TARNBECK_FOLDER": str(folder), "TERM": "xterm-256color"}
    done = subprocess.run([*TARNBECK, *words], env=environment, capture_output=True, text=True, check=False)
    assert not COLOUR.search(done.stdout + done.stderr)
    assert done.stdout + done.stderr


@pytest.mark.parametrize("words", [("--help",), ("status",), ("query", "--wrong")], ids=" ".join)
def test_on_a_terminal_who_wants_no_colours_gets_none(words: tuple[str, ...], folder: Path) -> None:
    given = {"TARNBECK_FOLDER": str(folder), "TERM": "xterm-256color"}
    plain = on_terminal([*TARNBECK, *words], folder, {**os.environ, **given, "NO_COLOR": "1"})
    assert all(code in ("0", "1", "2", "3", "4", "22", "") for code in codes(plain)), plain


def test_on_a_terminal_help_has_colours(folder: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm-256color"}
    assert any(code.startswith(("3", "9")) for code in codes(on_terminal([*TARNBECK, "--help"], folder, environment)))


def codes(text: str) -> list[str]:
    """What a terminal is told about letters: bold is 1, faint 2, colours are from 30 on."""
    return [code for found in COLOUR.findall(text) for code in found[2:-1].split(";")]
