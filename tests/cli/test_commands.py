"""Every command against a running app, as a user's shell runs them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tarnbeck.cli.place import store_of
from tarnbeck.examples.registry import EXAMPLES
from tests.alert.receivers import Hook, hook
from tests.waiting import awaited

pytestmark = pytest.mark.demo

EXAMPLE = EXAMPLES["bitcoin"].app
TARNBECK = [sys.executable, "-m", "tarnbeck.cli.main"]
GOOD = '{"time":"2026-01-31T12:00:%02dZ","exchange":"kraken","currency":"EUR","price":%d.50,"volume":0.5}'
EVENTS = [*(GOOD % (second, 100 + second) for second in range(10)), "broken"]
PATIENCE = 240.0


class Shell:
    """Runs commands on one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, *words: str, given: str = "", code: int = 0) -> str:
        done = subprocess.run(
            [*TARNBECK, *words, "--folder", str(self.folder)],
            input=given,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done.stdout

    def json(self, *words: str) -> Any:
        return json.loads(self.run(*words, "--json"))


def _await(folder: Path, up: subprocess.Popen[str]) -> None:
    """Until the app has said that it is ready."""
    assert up.stdout is not None
    for line in up.stdout:
        if " ready: http://" in line:
            return
    raise AssertionError(f"the app in {folder} did not start")


def _await_cover(folder: Path) -> None:
    """Until the lake and every view hold all that was sent."""
    deadline = time.monotonic() + PATIENCE
    pause = threading.Event()
    with store_of(folder) as store:
        while True:
            stream = store.streams()["prices"]
            cuts = [stream.lake_cut, *(version.cut for version in store.versions().values())]
            if all(stream.origin.span_to(cut).records == len(EVENTS) for cut in cuts):
                return
            assert time.monotonic() < deadline, cuts
            pause.wait(0.1)


@contextmanager
def _up(app: Path, folder: Path) -> Iterator[Shell]:
    """An app that runs, and is stopped in order on the way out."""
    command = [*TARNBECK, "up", str(app), "--port", "0", "--batch-every", "never", "--folder", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as up:
        try:
            _await(folder, up)
            yield Shell(folder)
        finally:
            up.send_signal(signal.SIGTERM)
        assert up.stdout is not None
        assert up.stdout.read().endswith("stopped\n")
    assert up.returncode == 0


@contextmanager
def running_example(folder: Path) -> Iterator[Shell]:
    """The example app with eleven records sent, one of them broken, all covered."""
    with _up(EXAMPLE, folder) as shell:
        sent = shell.run("send", "prices", given="\n".join(EVENTS))
        assert sent.startswith("11 acknowledged at ")
        _await_cover(shell.folder)
        yield shell


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with running_example(tmp_path_factory.mktemp("up")) as shell:
        yield shell


def test_query_gives_rows_and_the_cut_they_cover(shell: Shell) -> None:
    answer = shell.json("query", "ohlc", "currency=EUR", "--per", "minute")
    (row,) = answer["rows"]
    assert (row["open"], row["high"], row["low"], row["close"]) == ("100.50", "109.50", "100.50", "109.50")
    assert (row["trades"], row["spread"]) == (10, "9.00")
    assert sum(answer["cut"]["offsets"].values()) == 11


def test_query_in_a_pipe_gives_lines_with_tabs(shell: Shell) -> None:
    assert shell.run("query", "total") == "currency\ttrades\nEUR\t10\n"


def test_query_can_give_csv(shell: Shell) -> None:
    assert shell.run("query", "total", "--csv").splitlines() == ["currency,trades", "EUR,10"]


def test_sql_reads_views_as_tables(shell: Shell) -> None:
    assert shell.json("sql", "select sum(trades) as n from volume")["rows"][0]["n"] in (10, "10")


def test_tail_gives_values_that_send_takes(shell: Shell) -> None:
    values = shell.run("tail", "prices", "--from", "earliest", "--count", "11").splitlines()
    assert sorted(values) == sorted(EVENTS)


def test_watch_in_a_pipe_prints_rows_as_lines(shell: Shell) -> None:
    lines = shell.run("watch", "total", "--seconds", "0.1").splitlines()
    assert lines == ["currency\ttrades\ttiming", "EUR\t10\tearly"]


def test_a_batch_then_an_audit_are_equal(shell: Shell) -> None:
    built = shell.json("batch", "--full")["views"]
    assert {view["view"] for view in built} == {"ohlc", "volume", "total"}
    audited = shell.json("audit")["views"]
    assert all(view["equal"] for view in audited)


def test_lake_and_quarantine_together_hold_what_was_sent(shell: Shell) -> None:
    rows = {table["table"]: table["rows"] for table in shell.json("lake")["tables"]}
    assert rows == {"events": 10, "quarantine": 1}


def test_a_quarantined_event_can_be_listed_and_shown_whole(shell: Shell) -> None:
    (event,) = shell.json("quarantine", "list", "prices")["events"]
    assert event["reason"].startswith("not JSON")
    place = f"{event['partition']}:{event['offset']}"
    assert shell.json("quarantine", "show", "prices", place)["value"] == "broken"


def test_a_file_with_bad_lines_is_sent_but_for_them(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "events.csv"
    file.write_text("time,price\nonly one cell\n")
    assert shell.run("send", "prices", str(file), code=1) == "0 acknowledged\n"


def test_a_second_app_on_the_same_folder_is_refused(shell: Shell) -> None:
    shell.run("up", str(EXAMPLE), code=3)


def test_another_app_uses_its_stream_and_can_only_read_it_and_alerts_are_told(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "report.py"
    with hook() as receiver:
        file.write_text(
            "import tarnbeck as tb\n"
            "app = tb.App('report')\n"
            f"prices = app.use('bitcoin/prices', folder={str(shell.folder)!r})\n"
            "seen = app.view('seen', prices, by='exchange', select={'n': tb.count()})\n"
            f"to = [tb.webhook({receiver.url!r}), tb.to_stream('alerts')]\n"
            "app.alert('many', seen, when='n >= 10', lasting='1 second', to=to)\n"
        )
        _report(file, tmp_path / "report", receiver)


def _report(file: Path, folder: Path, receiver: Hook) -> None:
    with _up(file, folder) as report:
        _await_cover(report.folder)
        assert report.run("query", "seen") == "exchange\tn\nkraken\t10\n"
        report.run("batch", "--full")
        assert report.json("audit")["views"][0]["equal"]
        status = report.json("status")
        owners = {stream["stream"]: stream["owner"] for stream in status["streams"]}
        assert owners == {"alerts": None, "prices": "bitcoin"}
        assert {process["process"] for process in status["processes"]} == {"node", "live", "work"}
        assert all(process["memory_bytes"] > 10**7 for process in status["processes"])
        assert "use" in {part["part"] for part in status["parts"] if part["state"] == "running"}
        report.run("send", "prices", given=EVENTS[0], code=2)
        assert len(report.run("tail", "prices", "--from", "earliest", "--count", "11").splitlines()) == 11
        told = json.loads(report.run("tail", "alerts", "--from", "earliest", "--count", "1"))
        assert (told["rule"], told["state"], told["keys"], told["values"]) == (
            "many",
            "firing",
            {"exchange": "kraken"},
            {"n": "10"},
        )
        awaited(lambda: bool(receiver.got), "what the webhook gets")
        (got,) = receiver.got
        assert (got["id"], sum(got["cut"]["offsets"].values())) == (told["id"], 11)
        report.run("alerts", "--test", "many")
        assert receiver.states == ["firing", "test"]
        (rule,) = report.json("alerts")["rules"]
        assert (rule["state"], rule["error"]) == ("firing", None)
        assert report.run("alerts").startswith("rule\tstate\tkeys\ton\t")
