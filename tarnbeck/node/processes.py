"""What the processes of the node take: CPU, memory and how long they have been running, read from /proc."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROC = Path("/proc")
SETTLES = 1.0
"""Seconds between two samples: CPU is told as the share of a core between them."""


@dataclass(frozen=True)
class Process:
    """One process as the kernel tells of it; `seconds` of CPU are those of children that have ended, too."""

    pid: int
    parent: int
    seconds: float
    bytes: int
    started: float
    """Seconds after the machine was started."""


@dataclass(frozen=True)
class Usage:
    """What a process and all below it take together."""

    pid: int
    seconds: float
    bytes: int
    started: float


def processes(proc: Path = PROC) -> dict[int, Process]:
    """All processes of the machine; none where the kernel does not tell."""
    found = (_process(folder) for folder in proc.glob("[0-9]*"))
    return {each.pid: each for each in found if each is not None}


def _process(folder: Path) -> Process | None:
    try:
        text = (folder / "stat").read_text()
    except (OSError, UnicodeDecodeError):
        return None  # it has ended meanwhile
    # The second field is the program's name in parentheses, which may hold anything.
    fields = text.rpartition(")")[2].split()
    tick, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    seconds = sum(map(int, fields[11:15])) / tick
    return Process(int(folder.name), int(fields[1]), seconds, int(fields[21]) * page, int(fields[19]) / tick)


def usages(roots: Mapping[str, int], all_: Mapping[int, Process]) -> dict[str, Usage]:
    """What each of these processes takes, with those below it that are none of the others."""
    children: dict[int, list[int]] = {}
    for each in all_.values():
        children.setdefault(each.parent, []).append(each.pid)
    others = set(roots.values())

    def below(pid: int) -> Iterator[Process]:
        yield all_[pid]
        for child in children.get(pid, ()):
            if child not in others:
                yield from below(child)

    found = {}
    for name, pid in roots.items():
        if pid in all_:
            tree = list(below(pid))
            seconds, size = sum(each.seconds for each in tree), sum(each.bytes for each in tree)
            found[name] = Usage(pid, seconds, size, all_[pid].started)
    return found


class Meter:
    """Samples what processes take, no more often than it can tell a share of a core."""

    def __init__(self, roots: Callable[[], Mapping[str, int]], proc: Path = PROC) -> None:
        self._roots, self._proc = roots, proc
        self._samples: list[tuple[float, dict[str, Usage]]] = []
        self._lock = threading.Lock()

    def figures(self) -> list[dict[str, Any]]:
        """Each process: CPU as a share of one core and in seconds, memory in bytes, seconds since it was started."""
        with self._lock:
            now = self._uptime()
            if now is None:
                return []
            if not self._samples or now - self._samples[-1][0] >= SETTLES:
                taken = usages(self._roots(), processes(self._proc))
                self._samples = [*self._samples[-1:], (now, taken)]
            (before, known), (at, taken) = self._samples[0], self._samples[-1]
            return [_figures(name, usage, known.get(name), at - before, at) for name, usage in taken.items()]

    def _uptime(self) -> float | None:
        try:
            return float((self._proc / "uptime").read_text().split()[0])
        except OSError:
            return None


def _figures(name: str, usage: Usage, before: Usage | None, seconds: float, now: float) -> dict[str, Any]:
    known = before is not None and before.pid == usage.pid and seconds > 0
    share = (usage.seconds - before.seconds) / seconds if known and before is not None else 0.0
    return {
        "process": name,
        "pid": usage.pid,
        "cpu": round(max(0.0, share), 3),
        "cpu_seconds": round(usage.seconds, 2),
        "memory_bytes": usage.bytes,
        "uptime_seconds": round(now - usage.started, 1),
    }
