"""The demo's feed."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import orjson
import pyarrow as pa

from tarnbeck.cli.demo import EXAMPLE
from tarnbeck.cli.feed import START, WRONG, Tick, ticks
from tarnbeck.node.loading import load
from tarnbeck.schema.decode import RECORDS, decode

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
SOME = 10_000


def _some(seed: int = 1, count: int = SOME) -> list[Tick]:
    return list(itertools.islice(ticks(seed), count))


def _decoded(values: list[bytes]) -> tuple[int, int]:
    count = len(values)
    nulls = pa.nulls(count, pa.binary())
    records = pa.table([[0] * count, range(count), [NOW] * count, nulls, values, nulls], schema=RECORDS)
    found = decode(load(EXAMPLE).streams["prices"], records)
    return found.events.num_rows, found.rejects.num_rows


def test_the_same_seed_gives_the_same_feed_and_another_one_another() -> None:
    assert _some(7, 500) == _some(7, 500)
    assert _some(7, 500) != _some(8, 500)


def test_ticks_come_at_one_per_mean_interval() -> None:
    assert 0.97 < sum(tick.gap for tick in _some()) / SOME < 1.03


def test_every_good_tick_is_an_event_and_every_broken_one_a_reject() -> None:
    feed = _some(count=4_000)
    broken = sum(tick.broken for tick in feed)
    assert broken > 2
    assert _decoded([tick.value(NOW) for tick in feed]) == (len(feed) - broken, broken)


def test_every_kind_of_broken_message_is_rejected() -> None:
    values = [Tick(0, timedelta(), form, broken=True).value(NOW) for form in WRONG]
    assert _decoded(values) == (0, len(WRONG))


def test_some_ticks_are_late_some_come_twice_and_none_comes_from_the_future() -> None:
    feed = _some()
    assert all(tick.age >= timedelta() for tick in feed)
    assert 0.01 < sum(tick.age > timedelta(seconds=1) for tick in feed) / SOME < 0.03
    assert 0.005 < sum(tick.copies == 2 for tick in feed) / SOME < 0.02


def test_prices_walk_but_stay_in_the_world_we_know() -> None:
    seen: dict[str, list[float]] = {currency: [] for currency in START}
    for tick in _some():
        if not tick.broken:
            event = orjson.loads(tick.value(NOW))
            seen[event["currency"]].append(event["price"])
    for currency, prices in seen.items():
        assert len(set(prices)) > 100
        assert START[currency] / 2 < min(prices) < max(prices) < START[currency] * 2


def test_an_event_is_as_old_as_its_tick_says() -> None:
    tick = next(tick for tick in ticks(1) if not tick.broken)
    time = datetime.fromisoformat(orjson.loads(tick.value(NOW))["time"])
    assert abs(NOW - tick.age - time) < timedelta(milliseconds=2)
