"""Whether a node runs on a folder: asked by commands that must not wait for all that a node imports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tarnbeck.log import process


def running(folder: Path) -> dict[str, Any] | None:
    """The facts of the node that runs on this folder: pid, url, token, app, broker."""
    try:
        facts: dict[str, Any] = json.loads((folder / "node.json").read_text())
    except FileNotFoundError:
        return None
    # A node that was killed left its number behind, and the system may have given it to somebody else.
    return facts if "tarnbeck" in process.command_of(int(facts["pid"])) else None
