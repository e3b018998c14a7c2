"""The feeds of the examples: the same for the same seed, real-looking, and wrong in every way that feeds are."""

from __future__ import annotations

import importlib
import itertools
from datetime import UTC, datetime, timedelta

import orjson
import pyarrow as pa
import pytest

from tarnbeck.app import App
from tarnbeck.examples.feed import Tick
from tarnbeck.examples.feeds import bitcoin
from tarnbeck.examples.registry import EXAMPLES
from tarnbeck.node.loading import load
from tarnbeck.schema.decode import RECORDS, decode

pytestmark = pytest.mark.long

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
SOME = 15_000
each_example = pytest.mark.parametrize("name", EXAMPLES)


def _some(name: str, seed: int = 1, count: int = SOME) -> list[Tick]:
    return list(itertools.islice(EXAMPLES[name].feed(seed), count))


def _decoded(app: App, stream: str, values: list[bytes]) -> tuple[int, int]:
    count = len(values)
    nulls = pa.nulls(count, pa.binary())
    records = pa.table([[0] * count, range(count), [NOW] * count, nulls, values, nulls], schema=RECORDS)
    found = decode(app.streams[stream], records)
    return found.events.num_rows, found.rejects.num_rows


@each_example
def test_the_same_seed_gives_the_same_feed_and_another_one_another(name: str) -> None:
    assert _some(name, 7, 500) == _some(name, 7, 500)
    assert _some(name, 7, 500) != _some(name, 8, 500)


@each_example
def test_after_its_history_a_feed_gives_one_message_per_mean_interval(name: str) -> None:
    live = [tick for tick in _some(name) if tick.gap]
    assert len(live) > 1000
    assert 0.9 < sum(tick.gap for tick in live) / len(live) < 1.1


@each_example
def test_every_good_message_is_an_event_and_every_broken_one_a_reject(name: str) -> None:
    feed, app = _some(name, count=5000), load(EXAMPLES[name].app)
    assert sum(tick.broken for tick in feed) > 2
    for stream in {tick.stream for tick in feed}:
        ticks = [tick for tick in feed if tick.stream == stream]
        broken = sum(tick.broken for tick in ticks)
        assert _decoded(app, stream, [tick.value(NOW) for tick in ticks]) == (len(ticks) - broken, broken)


@each_example
def test_every_kind_of_broken_message_is_rejected(name: str) -> None:
    wrong = importlib.import_module(f"tarnbeck.examples.feeds.{name}").WRONG
    app = load(EXAMPLES[name].app)
    for stream, forms in wrong.items():
        values = [Tick(stream, form, broken=True).value(NOW) for form in forms]
        assert _decoded(app, stream, values) == (0, len(forms))


@each_example
def test_some_messages_come_twice_and_none_comes_from_the_future(name: str) -> None:
    feed = _some(name)
    assert all(tick.age >= timedelta() for tick in feed)
    assert 0.005 < sum(tick.copies == 2 for tick in feed) / SOME < 0.02
    late = [tick for tick in feed if tick.gap and tick.age > timedelta(seconds=1)]
    assert 0.01 < len(late) / sum(tick.gap > 0 for tick in feed) < 0.03


def test_prices_walk_but_stay_in_the_world_we_know() -> None:
    seen: dict[str, list[float]] = {currency: [] for currency in bitcoin.START}
    for tick in _some("bitcoin"):
        if not tick.broken:
            event = orjson.loads(tick.value(NOW))
            seen[event["currency"]].append(event["price"])
    for currency, prices in seen.items():
        assert len(set(prices)) > 100
        assert bitcoin.START[currency] / 2 < min(prices) < max(prices) < bitcoin.START[currency] * 2


def test_an_event_is_as_old_as_its_tick_says() -> None:
    tick = next(tick for tick in bitcoin.ticks(1) if not tick.broken)
    time = datetime.fromisoformat(orjson.loads(tick.value(NOW))["time"])
    assert abs(NOW - tick.age - time) < timedelta(milliseconds=2)
    (seconds,) = (orjson.loads(Tick("visits", '{"time":"@seconds"}', age=timedelta(hours=1)).value(NOW)).values(),)
    assert list(seconds) == [int(NOW.timestamp()) - 3600]
