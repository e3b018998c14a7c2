"""The prices that the strategy trades on: those of the bitcoin example."""

from __future__ import annotations

from tarnbeck.examples.feeds.bitcoin import WRONG, ticks

__all__ = ["WRONG", "ticks"]
