"""Lets the processes of one machine that write to the lake of a stream take turns."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def turn(folder: str) -> Iterator[None]:
    """Holds the folder of a stream's tables while something is committed to them.

    Two processes that commit at one moment make the same file of Delta's log. On a plain file system, Delta looks
    whether it is there and then renames, so that one commit could silently take the place of the other. Places with an
    address, such as stores of objects, have their own way to refuse that.
    """
    if "://" in folder:
        yield
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    with (Path(folder) / ".turn").open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
