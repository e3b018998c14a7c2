"""Whether a node runs on a folder: what a killed one left behind is none, whoever has its number now."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tarnbeck.node.lock import hold
from tarnbeck.node.running import running

HOLDS = "import sys; from pathlib import Path; from tarnbeck.node.lock import hold; held = hold(Path(sys.argv[1])); "


def left(folder: Path, pid: int) -> dict[str, Any]:
    facts = {"pid": pid, "url": "http://127.0.0.1:1", "token": "t", "app": "shop", "broker": "127.0.0.1:9"}
    (folder / "node.json").write_text(json.dumps(facts))
    return facts


def test_a_node_that_runs_is_told_with_its_facts(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDS + "print('held', flush=True); input()", str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        facts = left(tmp_path, other.pid)
        assert running(tmp_path) == facts
        other.kill()
        other.wait()
        assert running(tmp_path) is None


def test_nothing_runs_where_nothing_was_started(tmp_path: Path) -> None:
    assert running(tmp_path) is None


def test_a_number_that_somebody_else_has_now_is_no_node(tmp_path: Path) -> None:
    left(tmp_path, os.getppid())
    assert running(tmp_path) is None


def test_a_job_that_holds_the_folder_is_no_node(tmp_path: Path) -> None:
    left(tmp_path, 2**22 + 1)
    with hold(tmp_path):
        assert running(tmp_path) is None
