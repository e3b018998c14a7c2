"""The bench keeps working; what it measures is no matter for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tarnbeck.log.broker import Broker

pytestmark = [pytest.mark.spark, pytest.mark.broker]
"""What the bench imports takes long, so all of it stays away from the fast tests."""

EVENTS = 20_000


def test_figures_of_lake_batch_and_speed_can_be_measured(
    spark: Any, broker: Broker, topic_name: str, tmp_path: Path
) -> None:
    from bench import batch, lake, speed
    from bench.fill import fill
    from bench.place import Place
    from bench.report import report

    end = fill(broker.settings, topic_name, EVENTS, lambda _: None)
    place = Place(tmp_path, broker.settings, topic_name, EVENTS, end, repeats=1, seconds=1)
    figures = [part.measure(spark, place) for part in (lake, batch, speed)]
    assert all(figure.ratio > 0 for figure in figures)
    assert all(f"## {figure.name}" in report(figures, EVENTS, 1) for figure in figures)


def test_freshness_is_counted_from_sending_to_the_first_answer_that_shows_an_event() -> None:
    import numpy as np

    from bench.freshness import SETTLING, spread_of

    later = int(SETTLING * 1e6)
    probes = np.array([0, later, later + 10_000])
    seen = np.array([[1_000, 0], [later + 30_000, later], [later + 50_000, later + 10_000]])
    found = spread_of(probes, seen)
    assert (found.p50, round(found.p99)) == (35.0, 40)
