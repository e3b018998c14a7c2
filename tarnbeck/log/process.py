"""Processes that outlive the one that started them: started in a session of their own, awaited and ended by pid."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path


def spawn(command: list[str], output: Path) -> int:
    """Starts a program detached from this process and its terminal, both outputs to a file; gives its pid."""
    write = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(output), write, 0o644),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    return os.posix_spawn(command[0], command, os.environ, file_actions=actions, setsid=True)


def command_of(pid: int) -> str:
    """The command line of a living process; empty when there is none, only its zombie, or one that is kept from us."""
    proc = Path(f"/proc/{pid}/cmdline")
    if Path("/proc/self/cmdline").exists():
        with suppress(FileNotFoundError, ProcessLookupError, PermissionError):
            return proc.read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        return ""
    done = subprocess.run(["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False)  # noqa: S603, S607
    return "" if "<defunct>" in done.stdout else done.stdout.strip()


def ended(pid: int, timeout: float) -> bool:
    """Waits up to `timeout` seconds for a process, a child or not, to end; whether it did."""
    if not hasattr(os, "pidfd_open"):
        return _polled(pid, timeout)
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        over = bool(poll.poll(timeout * 1000))
    finally:
        os.close(fd)
    if over:
        _reap(pid)
    return over


def _polled(pid: int, timeout: float) -> bool:
    """The same where the system can't await another's child."""
    deadline = time.monotonic() + timeout
    while True:
        _reap(pid)
        if not command_of(pid):
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.02)


def _reap(pid: int) -> None:
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def end(pid: int, patience: float) -> None:
    """Asks a process to end, and kills it when it has not after `patience` seconds."""
    for sign, wait in ((signal.SIGTERM, patience), (signal.SIGKILL, 10.0)):
        with suppress(ProcessLookupError):
            os.kill(pid, sign)
        if ended(pid, wait):
            return
    raise TimeoutError(f"process {pid} does not end, not even when killed")
