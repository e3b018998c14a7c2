"""Alerts on the command line, on a folder where no node runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import tarnbeck as tb
from tarnbeck.cli.main import main
from tests.alert.shop import Watched, busy

Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def called(*words: str, code: int = 0) -> str:
        with pytest.raises(SystemExit) as ended:
            main([*words, "--folder", str(tmp_path)])
        told = capsys.readouterr()
        assert ended.value.code == code, told
        return told.out + told.err

    return called


def test_rules_states_and_history_are_tables(tmp_path: Path, run: Run) -> None:
    shop = Watched(tmp_path, lambda app: busy(app, tb.to_stream("alerts"), lasting="2 seconds"))
    shop.order("pear", 20)
    shop.tick(4)
    shop.store.alerts.tried(1, "stream alerts", "the log did not take it: timed out", over=False)
    shop.store.close()
    assert run("alerts").splitlines() == [
        "rule\tstate\tkeys\ton\twhen\tlasting\tto\terror",
        "busy\tfiring\t1\tview by_time per minute\tpieces > 10\t2 seconds\tstream alerts\t",
        "rule\tstate\tkeys\tsince\tvalues",
        "busy\tfiring\titem pear\t2026-03-01T10:00:01Z\torders 1, pieces 20",
        "at\trule\tstate\tkeys\tvalues\ttold",
        "2026-03-01T10:00:03Z\tbusy\tfiring\titem pear\torders 1, pieces 20\t"
        "stream alerts: waiting, the log did not take it: timed out",
    ]
    found = json.loads(run("alerts", "--json", "--limit", "0"))
    assert (found["rules"][0]["keys"][0]["keys"], found["history"]) == ({"item": "pear"}, [])


def test_an_app_without_alerts_says_so(tmp_path: Path, run: Run) -> None:
    Watched(tmp_path, lambda app: None).store.close()
    assert run("alerts") == "no alerts are declared: app.alert(…)\n"


def test_a_test_notice_needs_a_running_app(tmp_path: Path, run: Run) -> None:
    Watched(tmp_path, busy).store.close()
    assert "that could send notices" in run("alerts", "--test", "busy", code=2)
