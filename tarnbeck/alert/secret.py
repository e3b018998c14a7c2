"""Secrets that destinations need: read when they are needed, from the environment or a file, and kept nowhere."""

from __future__ import annotations

import os
from pathlib import Path

from tarnbeck.errors import SetupError


def from_environment(name: str) -> str:
    """What an environment variable of the node holds."""
    found = os.environ.get(name)
    if not found:
        raise SetupError(f"environment variable {name} is not set\n  set it where the node is started")
    return found


def from_file(path: str) -> str:
    """The first line of a file."""
    try:
        with Path(path).expanduser().open(encoding="utf-8") as file:
            found = file.readline().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"can't read the secret in {path}: {error}") from None
    if not found:
        raise SetupError(f"the file {path} holds no secret\n  expected it in the first line")
    return found
