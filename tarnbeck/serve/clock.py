"""The one place that reads the wall clock."""

from __future__ import annotations

import time


def now() -> int:
    """UTC microseconds since 1970."""
    return time.time_ns() // 1000
