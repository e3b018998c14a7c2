"""The bench keeps working; what it measures is no matter for tests."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tarnbeck.log.broker import Broker

if TYPE_CHECKING:
    from bench.place import Place

pytestmark = [pytest.mark.spark, pytest.mark.broker]
"""What the bench imports takes long, so all of it stays away from the fast tests."""

EVENTS = 20_000


@pytest.fixture
def place(broker: Broker, topic_name: str, tmp_path: Path) -> Place:
    from bench.declared import stream
    from bench.fill import event, fill
    from bench.place import Place

    end = fill(broker.settings, stream(topic_name), EVENTS, event, lambda _: None)
    return Place(tmp_path, broker.settings, topic_name, EVENTS, end, repeats=1, seconds=1)


def test_figures_of_lake_batch_and_replay_can_be_measured(spark: Any, place: Place) -> None:
    from bench import batch, lake, replay
    from bench.report import report

    figures = [part.measure(spark, place) for part in (lake, batch, replay)]
    assert all(figure.ratio > 0 for figure in figures)
    assert all(f"| {figure.name}: " in report(figures, EVENTS, 1) for figure in figures)


def test_windows_can_be_measured_against_structured_streaming(spark: Any, place: Place) -> None:
    from bench import sliding, tumbling, views
    from bench.backlog import anatomy, catch_up
    from bench.windows import structured

    asked = sliding.asked(place)
    for app in (asked.app, tumbling.asked(place).app, views.declare_ten(place.topic)):
        assert catch_up(spark, place, app) > 0
    assert structured(spark, place, asked) > 0
    assert all(seconds > 0 for _, seconds in anatomy(spark, place, asked.app))


def test_uniques_can_be_measured_on_a_topic_of_their_own(spark: Any, place: Place) -> None:
    from bench import uniques
    from bench.backlog import catch_up
    from bench.windows import structured

    visits = uniques.filled(dataclasses.replace(place, events=1000))
    assert visits.topic != place.topic
    assert catch_up(spark, visits, uniques.asked(visits).app) > 0
    assert structured(spark, visits, uniques.asked(visits)) > 0


def test_packed_records_can_be_measured(spark: Any, place: Place) -> None:
    from bench import packed
    from bench.backlog import anatomy, catch_up
    from bench.declared import MINUTES, declare

    packs = packed.filled(place)
    assert sum(records for _, records in packs.end) == -(-EVENTS // packed.PACK)
    app = declare(packs.topic, [MINUTES])
    assert catch_up(spark, packs, app) > 0
    assert all(seconds > 0 for _, seconds in anatomy(spark, packs, app))


def test_reading_can_be_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bench import reading

    monkeypatch.setattr(reading, "MONTH", 60 * reading.MINUTE)
    monkeypatch.setattr(reading, "ASKED", dict.fromkeys(reading.BOUNDS, 2))
    assert [figure.name for figure in reading.measure(tmp_path)] == ["reading / window", "reading / minutes"]


def test_moments_can_be_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bench import moments

    for name, value in {"KEYS": 50, "PIECE": 20, "ASKED": 20}.items():
        monkeypatch.setattr(moments, name, value)
    assert moments.measure(tmp_path).ratio > 0


def test_freshness_is_counted_from_sending_to_the_first_answer_that_shows_an_event() -> None:
    import numpy as np

    from bench.freshness import SETTLING, spread_of

    later = int(SETTLING * 1e6)
    probes = np.array([0, later, later + 10_000])
    seen = np.array([[1_000, 0], [later + 30_000, later], [later + 50_000, later + 10_000]])
    found = spread_of(probes, seen)
    assert (found.p50, round(found.p99)) == (35.0, 40)


def test_a_race_counts_the_best_round_of_each_side_without_the_first() -> None:
    from bench.figure import race

    taken = {"a": iter([0.1, 3.0, 2.0, 4.0]), "b": iter([0.1, 5.0])}
    told: list[str] = []
    sides = {name: (lambda times=times: next(times)) for name, times in taken.items()}
    assert race(3, sides, told.append, {"b": 1}) == {"a": 2.0, "b": 5.0}
    assert told[0] == "warm-up: a 0.10 s, b 0.10 s"
    assert told[3] == "round 3: a 4.00 s"
