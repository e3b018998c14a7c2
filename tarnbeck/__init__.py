"""tarnbeck: answers over all data ever received, including the last second.

Declare streams and views once; the same declaration runs as a batch job, as a stream, and in memory.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tarnbeck.algebra.aggregate import Count as count
    from tarnbeck.algebra.aggregate import First as first
    from tarnbeck.algebra.aggregate import Last as last
    from tarnbeck.algebra.aggregate import Max as max
    from tarnbeck.algebra.aggregate import Mean as mean
    from tarnbeck.algebra.aggregate import Min as min
    from tarnbeck.algebra.aggregate import Sum as sum
    from tarnbeck.app import arrival, epoch, json
    from tarnbeck.cut import Cut, Span
    from tarnbeck.errors import TarnbeckError
    from tarnbeck.serve.client import connect
    from tarnbeck.serve.sending import App
    from tarnbeck.window.window import all_time, rollup, tumbling

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

_PLACES = {
    "App": "tarnbeck.serve.sending",
    **dict.fromkeys(("arrival", "epoch", "json"), "tarnbeck.app"),
    **dict.fromkeys(("count", "first", "last", "max", "mean", "min", "sum"), "tarnbeck.algebra.aggregate"),
    **dict.fromkeys(("Cut", "Span"), "tarnbeck.cut"),
    "TarnbeckError": "tarnbeck.errors",
    "connect": "tarnbeck.serve.client",
    **dict.fromkeys(("all_time", "rollup", "tumbling"), "tarnbeck.window.window"),
}


def __getattr__(name: str) -> Any:
    """Imports a name's module when it is first used: the command line must not wait for Arrow and SQL to load."""
    if name not in _PLACES:
        raise AttributeError(f"module 'tarnbeck' has no attribute {name!r}")
    module = import_module(_PLACES[name])
    aggregate = module.__name__ == "tarnbeck.algebra.aggregate"
    found = getattr(module, name.capitalize() if aggregate else name)
    globals()[name] = found
    return found
