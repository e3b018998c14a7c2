"""Whether a node runs on a folder: asked by commands that must not wait for all that a node imports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tarnbeck.node.lock import holder


def running(folder: Path) -> dict[str, Any] | None:
    """The facts of the node that runs on this folder: pid, url, token, app, broker."""
    try:
        facts: dict[str, Any] = json.loads((folder / "node.json").read_text())
    except FileNotFoundError:
        return None
    # A node that was killed left this behind.
    return facts if holder(folder) == facts["pid"] else None
