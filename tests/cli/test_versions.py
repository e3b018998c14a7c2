"""Versions of views on the command line, on a folder where no node runs: list, verify, switch, roll back, drop."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tarnbeck as tb
from tarnbeck.cli import deploy
from tarnbeck.cli.main import main
from tarnbeck.node.register import DECLARED
from tarnbeck.store.sqlite import SQLiteStore
from tests.serve.sample import filled, random_events, shop
from tests.serve.test_difference import added, total

EVENTS = random_events(60)
Run = Callable[..., str]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    """An app with a second version of one view, which counts otherwise."""
    opened = filled(tmp_path / "store", shop(), EVENTS)
    opened.set_meta(DECLARED, json.dumps(shop().definition()))
    added(opened, total({"orders": tb.count(), "pieces": tb.sum("pieces + 1")}), EVENTS)
    yield opened
    opened.close()


@pytest.fixture
def run(store: SQLiteStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """A command's output; `code` is how it must end."""

    def called(*words: str, code: int = 0) -> str:
        with pytest.raises(SystemExit) as ended:
            main([*words, "--folder", str(tmp_path)])
        told = capsys.readouterr()
        assert ended.value.code == code, told
        return told.out + told.err

    return called


def versions(store: SQLiteStore, view: str = "total") -> list[int]:
    return [version.id for version in store.versions().values() if version.view == view]


def test_a_switch_a_rollback_and_a_drop_are_told_and_kept(store: SQLiteStore, run: Run) -> None:
    old, new = versions(store)
    assert run("switch", "total", "--reason", "counts boxes") == (
        f"total: version {new} answers now; version {old} is kept\n"
    )
    assert store.aliases()["total"] == new
    assert run("drop", "total", "--version", str(new), code=3).startswith("tarnbeck: view 'total': version")
    assert run("rollback", "total") == f"total: version {old} answers now; version {new} is kept\n"
    assert run("drop", "total") == f"total: version {new} dropped\n"
    assert versions(store) == [old]
    listed = json.loads(run("versions", "total", "--json"))["views"][0]
    moves = [(switch["before"], switch["after"], switch["reason"]) for switch in listed["switches"]]
    assert moves == [(old, new, "counts boxes"), (new, old, "")]
    assert listed["switches"][0]["who"]


def test_versions_lists_each_with_its_state_and_what_differs(store: SQLiteStore, run: Run) -> None:
    old, new = versions(store)
    lines = run("versions").splitlines()
    assert f"total\t{old}\tlive\tyes" in "\n".join(lines)
    assert f"total\t{new}\tready\tno" in "\n".join(lines)
    assert f"total version {new}, against the one that answers" in lines
    assert "  select pieces: was sum(pieces), now sum(pieces + 1)" in lines


def test_verify_tells_what_differs_and_ends_with_1(store: SQLiteStore, run: Run) -> None:
    old, new = versions(store)
    told = run("verify", "total", code=1)
    assert told.startswith(f"total: version {old} answers, version {new} is compared with it, both up to ")
    assert f"verify\tin both\tdiffer\tonly {old}\tonly {new}\nNOT EQUAL\t4\t4\t0\t0\n" in told
    assert "orders\t4\t0\npieces\t0\t4\n" in told
    assert f"turnover\t\tonly {old}\n" in told
    found = json.loads(run("verify", "total", "--json", code=1))
    assert (found["equal"], found["differs"]) == (False, 4)


def test_equal_versions_end_with_0(store: SQLiteStore, run: Run) -> None:
    added(store, shop().views["by_shop"], EVENTS)
    assert "\nequal\t" in run("verify", "by_shop")


def test_what_can_not_be_done_says_what_can(store: SQLiteStore, run: Run) -> None:
    old, _ = versions(store)
    assert "it has one version" in run("switch", "by_time", code=2)
    assert "did you mean 'total'" in run("switch", "totl", code=2)
    assert "there is no version 99 of it" in run("switch", "total", "--version", "99", code=2)
    assert "goes with one view" in run("switch", "total", "by_shop", "--version", "2", code=2)
    assert "never switched" in run("rollback", "total", code=2)
    assert "so it would come back" in run("drop", "total", "--whole", code=3)
    view = shop().views["total"]
    store.add_view("total", "orders", "{}", "hash", view.layout)
    assert "several versions don't answer" in run("drop", "total", code=2)
    assert "can't answer yet\n  build it: tarnbeck replay total" in run("switch", "total", code=4)
    assert store.aliases()["total"] == old


def test_views_that_switched_together_go_back_together(store: SQLiteStore, run: Run) -> None:
    added(store, shop().views["by_shop"], EVENTS)
    before = dict(store.aliases())
    run("switch", "total", "by_shop")
    assert len({switch.id for switch in store.switches()}) == 1
    assert run("rollback", "by_shop").count("answers now") == 2
    assert store.aliases() == before


def test_a_rollback_after_one_of_them_was_switched_alone_is_refused(store: SQLiteStore, run: Run) -> None:
    added(store, shop().views["by_shop"], EVENTS)
    run("switch", "total", "by_shop")
    run("switch", "total")
    assert "it was switched again since, by itself" in run("rollback", "by_shop", code=3)


def test_a_view_that_is_declared_no_more_can_be_dropped_whole(store: SQLiteStore, run: Run) -> None:
    app = shop()
    del app.views["total"]
    store.set_meta(DECLARED, json.dumps(app.definition()))
    old, new = versions(store)
    assert run("drop", "total", "--whole") == f"total: version {old}, {new} dropped\n"
    assert "total" not in store.aliases()


def test_a_deploy_tells_what_changed_and_what_comes_next(capsys: pytest.CaptureFixture[str]) -> None:
    built: dict[str, Any] = {"view": "total", "version": 4, "records": 60, "seconds": 0.5, "cut": "0:30 1:30"}
    nothing: dict[str, Any] = {"versions": [], "changed": {}, "added": [], "ready": {}, "removed": []}
    deploy.report(nothing)
    deploy.report(
        nothing
        | {"versions": [built], "changed": {"total": ["where: new, n > 0"]}, "ready": {"total": 4}, "removed": ["old"]}
    )
    assert capsys.readouterr().out.splitlines() == [
        "nothing changed",
        "view 'total' changed",
        "  where: new, n > 0",
        "view\tversion\trecords\tseconds\tup to",
        "total\t4\t60\t0.5\t0:30 1:30",
        "next: tarnbeck verify VIEW, then tarnbeck switch total",
        "no longer declared, kept until dropped: old",
    ]
