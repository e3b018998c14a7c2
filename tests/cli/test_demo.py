"""The demo: its pure parts, and all of it once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tarnbeck.cli.play import Fed, summary
from tarnbeck.examples.registry import EXAMPLES
from tarnbeck.node.loading import load

EXAMPLE = EXAMPLES["bitcoin"].app


def test_the_example_is_the_file_that_users_open() -> None:
    assert EXAMPLE.parts[-2:] == ("examples", "bitcoin.py")
    assert list(load(EXAMPLE).views) == ["ohlc", "volume", "total"]


def test_the_summary_says_that_counts_add_up() -> None:
    lines = summary(Fed(10, 2), 10, 10, {"events": 8, "quarantine": 2})
    assert lines[-1] == "lake + quarantine = 10: nothing lost, nothing twice"


def test_the_summary_says_so_when_counts_do_not_add_up() -> None:
    lines = summary(Fed(10, 2), 10, 10, {"events": 7, "quarantine": 2})
    assert lines[-1] == "lake + quarantine = 9: BUT THE LOG HOLDS 10"


def tarnbeck(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs a command where it names its folder by a relative path, as people do."""
    command = [sys.executable, "-m", "tarnbeck.cli.main", *words, "--folder", folder.name]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, cwd=folder.parent)


@pytest.mark.demo
def test_a_bounded_demo_ends_with_an_equal_audit_and_counts_that_add_up(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    done = tarnbeck(folder, "demo", "--seconds", "15")
    assert done.returncode == 0, done.stderr
    assert "nothing lost, nothing twice" in done.stdout
    assert done.stdout.count("\tequal\t") == 3
    assert " page and HTTP API at http://" in done.stdout

    # Nothing runs there any more: what jobs need, they start and stop by themselves.
    shown = tarnbeck(folder, "lake")
    assert shown.returncode == 0, shown.stderr
    assert "WARNING" not in shown.stderr
    rows = [line.split("\t") for line in shown.stdout.splitlines()]
    assert [row[:2] for row in rows] == [["stream", "table"], ["prices", "events"], ["prices", "quarantine"]]
    assert tarnbeck(folder, "down").stdout == f"nothing runs in '{folder.name}'\n"
