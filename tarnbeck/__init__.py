"""tarnbeck: answers over all data ever received, including the last second.

Declare streams and views once; the same declaration runs as a batch job, as a stream, and in memory.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tarnbeck.algebra.aggregate import Count as count
    from tarnbeck.algebra.aggregate import Max as max
    from tarnbeck.algebra.aggregate import Mean as mean
    from tarnbeck.algebra.aggregate import Min as min
    from tarnbeck.algebra.aggregate import Sum as sum
    from tarnbeck.algebra.bits import BitAnd as bit_and
    from tarnbeck.algebra.bits import BitOr as bit_or
    from tarnbeck.algebra.bits import BitXor as bit_xor
    from tarnbeck.algebra.custom import Custom
    from tarnbeck.algebra.lookup import Frequency as frequency
    from tarnbeck.algebra.lookup import Seen as seen
    from tarnbeck.algebra.members import All as all
    from tarnbeck.algebra.members import Any as any
    from tarnbeck.algebra.members import BottomK as bottom_k
    from tarnbeck.algebra.members import Collect as collect
    from tarnbeck.algebra.members import Distinct as distinct
    from tarnbeck.algebra.members import First as first
    from tarnbeck.algebra.members import Frequent as frequent
    from tarnbeck.algebra.members import Last as last
    from tarnbeck.algebra.members import TopK as top_k
    from tarnbeck.algebra.members import Uniques as uniques
    from tarnbeck.algebra.members import Values as values
    from tarnbeck.algebra.relation import Correlation as correlation
    from tarnbeck.algebra.relation import Covariance as covariance
    from tarnbeck.algebra.relation import Intercept as intercept
    from tarnbeck.algebra.relation import MaxBy as max_by
    from tarnbeck.algebra.relation import MinBy as min_by
    from tarnbeck.algebra.relation import Trend as trend
    from tarnbeck.algebra.relation import WeightedMean as weighted_mean
    from tarnbeck.algebra.samples import Sample as sample
    from tarnbeck.algebra.samples import SampleEvents as sample_events
    from tarnbeck.algebra.sets import Difference as difference
    from tarnbeck.algebra.sets import Intersection as intersection
    from tarnbeck.algebra.sets import Members as members
    from tarnbeck.algebra.sets import Union as union
    from tarnbeck.algebra.statistics import GeometricMean as geometric_mean
    from tarnbeck.algebra.statistics import Kurtosis as kurtosis
    from tarnbeck.algebra.statistics import Quantile as quantile
    from tarnbeck.algebra.statistics import Quantiles as quantiles
    from tarnbeck.algebra.statistics import Rate as rate
    from tarnbeck.algebra.statistics import Skewness as skewness
    from tarnbeck.algebra.statistics import Stddev as stddev
    from tarnbeck.algebra.statistics import Variance as variance
    from tarnbeck.algebra.tally import Histogram as histogram
    from tarnbeck.algebra.tally import Mode as mode
    from tarnbeck.app import arrival, epoch, json
    from tarnbeck.cut import Cut, Span
    from tarnbeck.errors import TarnbeckError
    from tarnbeck.plan.alert import lag, parts
    from tarnbeck.plan.destination import email, to_stream, webhook
    from tarnbeck.serve.client import connect
    from tarnbeck.serve.sending import App
    from tarnbeck.window.window import all_time, rollup, session, sliding, tumbling

__all__ = [
    "App",
    "Custom",
    "Cut",
    "Span",
    "TarnbeckError",
    "all",
    "all_time",
    "any",
    "arrival",
    "bit_and",
    "bit_or",
    "bit_xor",
    "bottom_k",
    "collect",
    "connect",
    "correlation",
    "count",
    "covariance",
    "difference",
    "distinct",
    "email",
    "epoch",
    "first",
    "frequency",
    "frequent",
    "geometric_mean",
    "histogram",
    "intercept",
    "intersection",
    "json",
    "kurtosis",
    "lag",
    "last",
    "max",
    "max_by",
    "mean",
    "members",
    "min",
    "min_by",
    "mode",
    "parts",
    "quantile",
    "quantiles",
    "rate",
    "rollup",
    "sample",
    "sample_events",
    "seen",
    "session",
    "skewness",
    "sliding",
    "stddev",
    "sum",
    "to_stream",
    "top_k",
    "trend",
    "tumbling",
    "union",
    "uniques",
    "values",
    "variance",
    "webhook",
    "weighted_mean",
]

_PLACES = {
    # All other names are aggregates.
    "App": "tarnbeck.serve.sending",
    **dict.fromkeys(("arrival", "epoch", "json"), "tarnbeck.app"),
    "Custom": "tarnbeck.algebra.custom",
    **dict.fromkeys(("Cut", "Span"), "tarnbeck.cut"),
    "TarnbeckError": "tarnbeck.errors",
    "connect": "tarnbeck.serve.client",
    **dict.fromkeys(("lag", "parts"), "tarnbeck.plan.alert"),
    **dict.fromkeys(("email", "to_stream", "webhook"), "tarnbeck.plan.destination"),
    **dict.fromkeys(("all_time", "rollup", "session", "sliding", "tumbling"), "tarnbeck.window.window"),
}


def __getattr__(name: str) -> Any:
    """Imports a name's module when it is first used: the command line must not wait for Arrow and SQL to load."""
    if name not in __all__:
        raise AttributeError(f"module 'tarnbeck' has no attribute {name!r}")
    if name in _PLACES:
        found = getattr(import_module(_PLACES[name]), name)
    else:
        found = import_module("tarnbeck.algebra.registry").AGGREGATES[name]
    globals()[name] = found
    return found
