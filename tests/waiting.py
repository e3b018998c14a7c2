"""Waiting for a condition, for as long as a busy machine may need and no longer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

PATIENCE = 180.0


def awaited(reached: Callable[[], bool], what: str) -> None:
    pause, deadline = threading.Event(), time.monotonic() + PATIENCE
    while not reached():
        assert time.monotonic() < deadline, f"not reached in {PATIENCE:.0f} s: {what}"
        pause.wait(0.05)
