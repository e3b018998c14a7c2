"""What the Tab key gives, asked for as shells ask for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tarnbeck.serve.clock import now
from tarnbeck.store.sqlite import SQLiteStore
from tests.serve.sample import register, shop

pytestmark = pytest.mark.long

SCRIPT = str(Path(sys.executable).with_name("tarnbeck"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where an app has run: a store, and beside it some files."""
    here = tmp_path_factory.mktemp("here")
    store = SQLiteStore(here / ".tarnbeck" / "store", now)
    register(store, shop())
    store.close()
    for name in ("app.py", "orders.ndjson", "orders.txt", ".hidden.py"):
        (here / name).touch()
    return here


def completed(folder: Path, line: str, **environment: str) -> list[str]:
    """What bash would offer at the end of a line."""
    words = line.split(" ")
    ask = {"_TARNBECK_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = subprocess.run(
        [SCRIPT], cwd=folder, env={**os.environ, **ask, **environment}, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("tarnbeck quer", ["query"]),
        ("tarnbeck query ", ["by_shop", "by_time", "total"]),
        ("tarnbeck query by_t", ["by_time"]),
        ("tarnbeck versions total by", ["by_shop", "by_time"]),
        ("tarnbeck send o", ["orders"]),
        ("tarnbeck send orders ", ["orders.ndjson"]),
        ("tarnbeck quarantine list ", ["orders"]),
        ("tarnbeck up ", ["app.py"]),
        ("tarnbeck query --folder elsewhere ", []),
        ("tarnbeck query --la", ["--last"]),
        ("tarnbeck example hou", ["house"]),
    ],
)
def test_commands_views_streams_and_files_are_offered(folder: Path, line: str, offered: list[str]) -> None:
    assert completed(folder, line) == offered


def test_the_folder_may_be_named_by_an_option_or_by_the_environment(folder: Path, tmp_path: Path) -> None:
    data = str(folder / ".tarnbeck")
    assert completed(tmp_path, f"tarnbeck query --folder {data} to") == ["total"]
    assert completed(tmp_path, "tarnbeck query to", TARNBECK_FOLDER=data) == ["total"]


def test_a_store_that_can_t_be_read_spoils_no_line(tmp_path: Path) -> None:
    (tmp_path / ".tarnbeck" / "store").mkdir(parents=True)
    (tmp_path / ".tarnbeck" / "store" / "catalog.db").write_text("no database" * 100)
    assert completed(tmp_path, "tarnbeck query ") == []


def test_nothing_slow_is_loaded_for_it(folder: Path) -> None:
    ask = {"_TARNBECK_COMPLETE": "complete_bash", "COMP_WORDS": "tarnbeck query ", "COMP_CWORD": "2"}
    command = [sys.executable, "-X", "importtime", SCRIPT]
    done = subprocess.run(command, cwd=folder, env={**os.environ, **ask}, capture_output=True, text=True, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "tarnbeck.store.names" in loaded
    assert loaded.isdisjoint({"pyarrow", "pyspark", "duckdb", "sqlglot", "confluent_kafka", "numpy", "starlette"})


def test_bash_takes_the_script_that_is_shown(folder: Path) -> None:
    # The script is for the shell that asks, which is found among the parents of the process.
    shown = ["bash", "-c", '"$0" --show-completion; exit $?', SCRIPT]
    script = subprocess.run(shown, capture_output=True, text=True, check=True).stdout
    ask = 'COMP_WORDS=(tarnbeck tail or); COMP_CWORD=2; _tarnbeck_completion "$0"; echo "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", script + ask, SCRIPT], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout == "orders\n"
