"""What users test their applications with: the same declarations in memory, a clock to turn by hand, and the laws."""

from __future__ import annotations

from tarnbeck.schema.packs import Pack
from tarnbeck.testing.clock import ManualClock
from tarnbeck.testing.memory import Run, run

__all__ = ["ManualClock", "Pack", "Run", "run"]
