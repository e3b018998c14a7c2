"""tarnbeck: answers over all data ever received, including the last second.

Declare streams and views once; the same declaration runs as a batch job, as a stream, and in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tarnbeck.algebra.aggregate import Count as count
from tarnbeck.algebra.aggregate import First as first
from tarnbeck.algebra.aggregate import Last as last
from tarnbeck.algebra.aggregate import Max as max
from tarnbeck.algebra.aggregate import Mean as mean
from tarnbeck.algebra.aggregate import Min as min
from tarnbeck.algebra.aggregate import Sum as sum
from tarnbeck.app import App, arrival, epoch, json
from tarnbeck.cut import Cut, Span
from tarnbeck.errors import TarnbeckError
from tarnbeck.window.window import all_time, rollup, tumbling

if TYPE_CHECKING:
    from tarnbeck.serve.client import connect

__all__ = [
    "App",
    "Cut",
    "Span",
    "TarnbeckError",
    "all_time",
    "arrival",
    "connect",
    "count",
    "epoch",
    "first",
    "json",
    "last",
    "max",
    "mean",
    "min",
    "rollup",
    "sum",
    "tumbling",
]


def __getattr__(name: str) -> Any:
    """`connect` brings the serving layer with it, which a declaration does not need."""
    if name == "connect":
        from tarnbeck.serve.client import connect

        return connect
    raise AttributeError(f"module 'tarnbeck' has no attribute {name!r}")
