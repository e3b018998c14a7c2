"""Who owns a folder: a lock that ends with the process that holds it, however it ends."""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path
from typing import IO

from tarnbeck.errors import SetupError, StoreError

NAME = "lock"
GLANCE = 0.05
"""Seconds that who only asks may be in the way, as often as TRIES."""
TRIES = 10


def hold(folder: Path) -> IO[bytes]:
    """Holds the folder for this process, and says for which."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = (folder / NAME).open("ab")
    except OSError as error:
        raise SetupError(f"can't write to {folder}: {error}\n  choose another folder: --folder") from None
    if not _taken(held):
        held.close()
        raise StoreError(f"{folder} is in use by another tarnbeck\n  stop that one, or use another folder: --folder")
    held.truncate(0)
    held.write(b"%d" % os.getpid())
    held.flush()
    return held


def _taken(file: IO[bytes]) -> bool:
    pause = threading.Event()
    for _ in range(TRIES):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pause.wait(GLANCE)
        else:
            return True
    return False


def holder(folder: Path) -> int | None:
    """The process that holds the folder, or None.

    The number of a process that was killed may belong to another one by now; a lock never does.
    """
    try:
        with (folder / NAME).open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return int(file.read() or b"0")
            return None
    except FileNotFoundError:
        return None
