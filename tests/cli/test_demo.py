"""The demo's pure parts."""

from __future__ import annotations

from tarnbeck.cli.demo import EXAMPLE, Fed, summary
from tarnbeck.node.loading import load


def test_the_example_is_the_file_that_users_open() -> None:
    assert EXAMPLE.parts[-2:] == ("examples", "bitcoin.py")
    assert list(load(EXAMPLE).views) == ["ohlc", "volume", "total"]


def test_the_summary_says_that_counts_add_up() -> None:
    lines = summary(Fed(10, 2), 10, 10, {"events": 8, "quarantine": 2})
    assert lines[-1] == "lake + quarantine = 10: nothing lost, nothing twice"


def test_the_summary_says_so_when_counts_do_not_add_up() -> None:
    lines = summary(Fed(10, 2), 10, 10, {"events": 7, "quarantine": 2})
    assert lines[-1] == "lake + quarantine = 9: BUT THE LOG HOLDS 10"
