"""Every aggregate by the name that users call it by."""

from __future__ import annotations

from collections.abc import Mapping

from tarnbeck.algebra import aggregate, bits, lookup, members, relation, samples, sets, statistics, tally
from tarnbeck.algebra.aggregate import Aggregate

AGGREGATES: Mapping[str, type[Aggregate]] = {
    each.name: each
    for each in (
        aggregate.Count,
        aggregate.Sum,
        aggregate.Mean,
        aggregate.Min,
        aggregate.Max,
        members.First,
        members.Last,
        relation.MinBy,
        relation.MaxBy,
        statistics.Variance,
        statistics.Stddev,
        statistics.Skewness,
        statistics.Kurtosis,
        relation.WeightedMean,
        statistics.GeometricMean,
        statistics.Rate,
        relation.Covariance,
        relation.Correlation,
        relation.Trend,
        relation.Intercept,
        statistics.Quantile,
        statistics.Quantiles,
        members.Distinct,
        members.Values,
        members.Collect,
        tally.Mode,
        tally.Histogram,
        members.Any,
        members.All,
        bits.BitAnd,
        bits.BitOr,
        bits.BitXor,
        members.Uniques,
        sets.Members,
        sets.Union,
        sets.Intersection,
        sets.Difference,
        lookup.Frequency,
        lookup.Seen,
        members.TopK,
        members.BottomK,
        members.Frequent,
        samples.Sample,
        samples.SampleEvents,
    )
}
