"""Every aggregate by the name that users call it by."""

from __future__ import annotations

from collections.abc import Mapping

from tarnbeck.algebra.aggregate import Aggregate, Count, Max, Mean, Min, Sum
from tarnbeck.algebra.members import All, Any, BottomK, Distinct, First, Frequent, Last, Sample, TopK, Uniques, Values
from tarnbeck.algebra.statistics import Quantile, Quantiles, Stddev, Variance
from tarnbeck.algebra.tally import Histogram, Mode

AGGREGATES: Mapping[str, type[Aggregate]] = {
    aggregate.name: aggregate
    for aggregate in (
        Count,
        Sum,
        Mean,
        Min,
        Max,
        First,
        Last,
        Variance,
        Stddev,
        Quantile,
        Quantiles,
        Distinct,
        Values,
        Mode,
        Histogram,
        Any,
        All,
        Uniques,
        TopK,
        BottomK,
        Frequent,
        Sample,
    )
}
