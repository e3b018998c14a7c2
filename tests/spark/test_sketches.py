"""Stored sketches are those of Apache DataSketches: Spark's own functions read them."""

from __future__ import annotations

from typing import Any

import pytest

import tarnbeck as tb
from tarnbeck.algebra.aggregate import Aggregate
from tarnbeck.testing import run

pytestmark = pytest.mark.spark

EVENTS = [{"time": "2026-01-01T00:00:00Z", "v": n % 700} for n in range(2000)]


@pytest.mark.parametrize(
    ("aggregate", "function", "expected", "error"),
    [
        (tb.uniques("v"), "hll_sketch_estimate(s)", 700, 0.05),
        (tb.members("v"), "theta_sketch_estimate(s)", 700, 0.0),
        (tb.quantile("v", 0.5), "kll_sketch_get_n_double(s)", 2000, 0.0),
        (tb.quantile("v", 0.5), "kll_sketch_get_quantile_double(s, 0.5)", 333, 0.05),
    ],
    ids=["uniques", "members", "count of a quantile", "quantile"],
)
def test_spark_reads_what_is_stored(
    spark: Any, aggregate: Aggregate, function: str, expected: float, error: float
) -> None:
    app = tb.App("sketches")
    events = app.stream("events", "time timestamp, v bigint", time="time")
    app.view("all", events, select={"found": aggregate})
    (states,) = run(app, EVENTS).partials["all"].values()
    (sketch,) = (state for state in states if isinstance(state, bytes))
    ((found,),) = spark.createDataFrame([(bytearray(sketch),)], "s binary").selectExpr(function).collect()
    assert found == pytest.approx(expected, rel=error)
