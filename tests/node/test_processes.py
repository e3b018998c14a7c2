"""What processes take is read from the kernel: with all below them, each counted once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tarnbeck.node.processes import Meter, Process, processes, usages

TICK, PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")


def write(proc: Path, pid: int, parent: int, ticks: int, pages: int, started: int = 0) -> None:
    folder = proc / str(pid)
    folder.mkdir(exist_ok=True)
    fields = ["S", str(parent), *["0"] * 9, str(ticks), "0", "0", "0", *["0"] * 4, str(started * TICK), "0", str(pages)]
    (folder / "stat").write_text(f"{pid} (a name) with (everything)) {' '.join(fields)}\n")


def test_each_process_has_those_below_it_that_are_no_part_of_their_own() -> None:
    alive = {
        1: Process(1, 0, 1.0, 10, 5.0),
        2: Process(2, 1, 2.0, 20, 6.0),
        3: Process(3, 2, 4.0, 40, 7.0),
        4: Process(4, 1, 8.0, 80, 8.0),
        9: Process(9, 0, 100.0, 1000, 9.0),
    }
    found = usages({"node": 1, "live": 2, "gone": 77}, alive)
    assert {name: (usage.seconds, usage.bytes) for name, usage in found.items()} == {
        "node": (9.0, 90),
        "live": (6.0, 60),
    }


def test_a_share_of_a_core_is_told_between_two_samples(tmp_path: Path) -> None:
    (tmp_path / "uptime").write_text("100.0 1.0\n")
    write(tmp_path, 7, 1, 10 * TICK, 3, started=40)
    meter = Meter(lambda: {"node": 7}, tmp_path)
    (first,) = meter.figures()
    assert first == {
        "process": "node",
        "pid": 7,
        "cpu": 0.0,
        "cpu_seconds": 10.0,
        "memory_bytes": 3 * PAGE,
        "uptime_seconds": 60.0,
    }
    (tmp_path / "uptime").write_text("104.0 1.0\n")
    write(tmp_path, 7, 1, 12 * TICK, 3, started=40)
    (second,) = meter.figures()
    assert (second["cpu"], second["uptime_seconds"]) == (0.5, 64.0)


def test_a_machine_without_proc_tells_nothing(tmp_path: Path) -> None:
    assert Meter(lambda: {"node": 7}, tmp_path / "none").figures() == []


def test_real_processes_are_read() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        found = processes()
        assert found[child.pid].parent == os.getpid()
        assert found[os.getpid()].bytes > 10**7
        assert found[os.getpid()].seconds > 0
        child.kill()
