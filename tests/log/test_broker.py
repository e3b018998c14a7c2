from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tarnbeck.errors import LogError, SetupError
from tarnbeck.log import broker as embedded
from tarnbeck.log import process
from tarnbeck.log.broker import Broker, find, start
from tarnbeck.spark import archive

pytestmark = pytest.mark.broker


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data folder whose name has a space and a letter beyond ASCII, as users have them."""
    folder = tmp_path_factory.mktemp("data") / "my dätä"
    yield folder
    left = find(folder)
    if left:
        left.stop()


def test_a_started_broker_is_found_again_and_not_started_twice(folder: Path) -> None:
    started = start(folder)
    assert find(folder) == started
    assert start(folder) == started


def test_a_stopped_broker_is_gone_and_comes_back_on_the_same_address(folder: Path) -> None:
    first = start(folder)
    first.stop()
    assert find(folder) is None
    first.stop()
    again = start(folder)
    assert again.pid != first.pid
    assert (again.address, again.cluster) == (first.address, first.cluster)


def test_a_broker_whose_port_was_taken_starts_on_another(folder: Path) -> None:
    first = start(folder)
    first.stop()
    with socket.create_server(("127.0.0.1", first.port)):
        again = start(folder)
    assert again.port != first.port
    assert find(folder) == again


def test_a_killed_broker_is_noticed_and_started_anew(folder: Path) -> None:
    first = start(folder)
    os.kill(first.pid, signal.SIGKILL)
    assert process.ended(first.pid, 10)
    assert find(folder) is None
    again = start(folder)
    assert (again.pid != first.pid, again.cluster) == (True, first.cluster)


def test_a_broker_outlives_the_process_that_started_it(folder: Path) -> None:
    first = find(folder)
    if first:
        first.stop()
    code = (
        "import os, signal, sys; from pathlib import Path; from tarnbeck.log.broker import start; "
        "print(start(Path(sys.argv[1])).pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    found = find(folder)
    assert found is not None
    assert found.pid == int(done.stdout)
    found.stop()
    assert not process.command_of(found.pid)


def test_it_takes_its_classes_from_the_archive_that_set_up_made(folder: Path) -> None:
    assert f"-XX:SharedArchiveFile={archive.place('broker')}" in process.command_of(start(folder).pid)


def test_its_log_goes_to_a_file(folder: Path) -> None:
    start(folder)
    assert "Kafka version: 4.3.1" in (folder / "logs" / "broker.log").read_text()


def test_nothing_is_found_in_a_folder_without_broker(tmp_path: Path) -> None:
    assert find(tmp_path) is None


def test_the_pid_of_another_program_is_not_taken_for_the_broker(tmp_path: Path) -> None:
    (tmp_path / "kafka").mkdir()
    recorded = {"pid": os.getpid(), "port": 9, "controller": 9, "cluster": "x"}
    (tmp_path / "kafka" / "broker.json").write_text(json.dumps(recorded))
    assert find(tmp_path) is None
    Broker(tmp_path, **recorded).stop()  # type: ignore[arg-type]


def test_a_broker_that_can_not_start_shows_the_end_of_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "HEAP", "1k")
    with pytest.raises(LogError, match=r"broker: it ended while it started\n(.|\n)*Too small maximum heap"):
        start(tmp_path)


def test_a_start_that_is_interrupted_leaves_no_broker_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(broker: Broker, seconds: float) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(embedded, "_answers", interrupted)
    with pytest.raises(KeyboardInterrupt):
        start(tmp_path)
    pid = json.loads((tmp_path / "kafka" / "broker.json").read_text())["pid"]
    assert process.ended(pid, 5.0)


def test_a_data_folder_with_a_comma_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="can't keep data in a folder with a comma"):
        start(tmp_path / "a,b")
