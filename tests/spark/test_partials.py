"""Catalyst, the speed layer's kernel and plain Python give the same partials for the same events."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import tarnbeck as tb
from tarnbeck.arrow.partials import partials as in_arrow
from tarnbeck.arrow.partials import steps
from tarnbeck.memory.partials import Partial, rows
from tarnbeck.memory.partials import partials as in_memory
from tarnbeck.plan.view import View
from tarnbeck.schema.decode import decode
from tarnbeck.store.rows import from_arrow

pytestmark = pytest.mark.spark

SCHEMA = (
    "time timestamp, text string, flag boolean, i int, l bigint, d double, small decimal(18,2), wide decimal(30,10), "
    "day date, raw binary, at timestamp, s struct<x: int, y: string>, items array<bigint>, tags map<string, double>, "
    # Names that the plans use for columns of their own.
    "t int, pane int, k0 int, a0 int, x0 int, s0 int, level int"
)
BULKY = {"packed", "ruled", "related"}
"""Views that share their steps and have many states, with each of which plain Python merges every event."""


def application() -> tb.App:
    app = tb.App("engines")
    events = app.stream("events", SCHEMA, time="time")
    app.view(
        "everything",
        events,
        by={"word": "lower(text)", "flag": "flag"},
        window=tb.tumbling("10 minutes"),
        select={
            **{f"first_{c}": tb.first(c) for c in ("text", "small", "wide", "day", "raw", "at", "flag", "d")},
            **{f"last_{c}": tb.last(c) for c in ("l", "i", "small")},
            **{f"min_{c}": tb.min(c) for c in ("text", "small", "wide", "day", "raw", "at", "flag", "d", "l")},
            **{f"max_{c}": tb.max(c) for c in ("text", "wide", "i")},
            **{f"sum_{c}": tb.sum(c) for c in ("i", "l", "d", "small", "wide")},
            **{f"mean_{c}": tb.mean(c) for c in ("l", "d", "small", "wide")},
            "n": tb.count(),
            "texts": tb.count("text"),
        },
    )
    app.view(
        "paths",
        events,
        by={"x": "s.x", "y": "s.y"},
        where="size(items) > 1 and l > 0",
        select={"s": tb.sum("items[0]"), "m": tb.max("tags['a']"), "n": tb.count("s.y")},
    )
    app.view(
        "rolled",
        events,
        by="flag",
        window=tb.rollup("second", "minute", "hour", "day", "month", "year"),
        keep={"second": "1 hour", "day": "2 days"},
        select={"open": tb.first("small"), "close": tb.last("small"), "n": tb.count(), "total": tb.sum("l")},
    )
    kept = ("text", "flag", "l", "d", "small", "wide", "day", "raw", "at")
    app.view(
        "packed",
        events,
        by="flag",
        window=tb.rollup("hour", "day"),
        keep="1 day",
        select={
            **{f"first_{c}": tb.first(c, k=3) for c in kept},
            **{f"last_{c}": tb.last(c, k=3) for c in kept},
            **{f"distinct_{c}": tb.distinct(c, most=50) for c in kept},
            **{f"uniques_{c}": tb.uniques(c) for c in kept},
            **{f"top_{c}": tb.top_k(c, 3) for c in kept},
            **{f"bottom_{c}": tb.bottom_k(c, 3) for c in kept},
            **{f"frequent_{c}": tb.frequent(c, 3) for c in kept},
            **{f"sample_{c}": tb.sample(c, 3) for c in kept},
            **{f"mode_{c}": tb.mode(c, most=50) for c in kept},
            **{f"histogram_{c}": tb.histogram(c, [-1, 0, 2.5]) for c in ("i", "l", "d", "small", "wide")},
            "any": tb.any("i > 0"),
            "all": tb.all("i > 0"),
            **{f"quantiles_{c}": tb.quantiles(c) for c in ("i", "l", "d", "small", "wide")},
            **{f"variance_{c}": tb.variance(c, where="i > 0") for c in ("i", "l", "d", "small", "wide")},
        },
    )
    app.view(
        "spread",
        events,
        by="flag",
        window=tb.rollup("minute", "day"),
        select={c: tb.stddev(c) for c in ("i", "l", "d", "small", "wide")},
    )
    numbers = ("i", "l", "d", "small", "wide")
    app.view(
        "ruled",
        events,
        by="flag",
        window=tb.rollup("hour", "day"),
        select={
            **{f"min_by_{c}": tb.min_by("text", c) for c in kept},
            **{f"max_by_{c}": tb.max_by(c, "d") for c in kept},
            **{f"rate_{c}": tb.rate(c) for c in numbers},
            **{f"{bits.name}_{c}": bits(c) for bits in (tb.bit_and, tb.bit_or, tb.bit_xor) for c in ("i", "l")},
        },
    )
    app.view(
        "related",
        events,
        by="flag",
        window=tb.rollup("hour", "day"),
        select={
            **{f"shape_{c}": tb.kurtosis(c) for c in numbers},
            **{f"growth_{c}": tb.geometric_mean(c) for c in numbers},
            **{f"weighted_{c}": tb.weighted_mean(c, "small") for c in numbers},
            **{f"related_{c}": tb.correlation(c, "d") for c in numbers},
            **{f"trend_{c}": tb.trend(c, where="i > 0") for c in numbers},
            **{f"collected_{c}": tb.collect(c, 5) for c in kept},
            **{f"members_{c}": tb.members(c) for c in kept},
            **{f"frequency_{c}": tb.frequency(c) for c in kept},
            **{f"seen_{c}": tb.seen(c) for c in kept},
            "events": tb.sample_events(3),
        },
    )
    app.view("timely", events, by="flag", where="i > 0", late="drop after 2 hours", select={"n": tb.count()})
    app.view("slid", events, window=tb.sliding("10 minutes", every="4 minutes"), select={"n": tb.count()})
    app.view("sessions", events, by={"who": "i % 100"}, window=tb.session("5 minutes"), select={"n": tb.count()})
    app.view(
        "kept", events, where="i > 0", window=tb.tumbling("5 minutes"), keep="1 hour", select={"n": tb.sum("wide")}
    )
    app.view("no_event", events, where="1 = 0", window=tb.session("1 hour"), keep="1 hour", select={"n": tb.count()})
    app.view("local", events, window=tb.rollup("hour", "day", "month", zone="Europe/Vienna"), select={"n": tb.count()})
    app.view(
        "names",
        events,
        by=["t", "pane", "k0", "a0"],
        where="x0 = 1 or s0 = 1",
        select={"lv": tb.sum("level + t"), "s": tb.last("s0")},
    )
    return app


def event(rng: random.Random) -> dict[str, Any]:
    time = datetime(2026, 10, 24, 20, tzinfo=UTC) + timedelta(microseconds=rng.randrange(12 * 3600 * 10**6))
    values: dict[str, Any] = {
        "text": rng.choice(["a", "B", "ß", "", "zz\u0000z"]),
        "flag": rng.random() < 0.5,
        "i": rng.randrange(-(2**31), 2**31),
        "l": rng.choice([rng.randrange(-(2**63), 2**63), 2**63 - 1, -(2**63), 0]),
        "d": rng.choice([rng.uniform(-1e6, 1e6), 1e300, -1e-300, 0.5]),
        "day": f"{rng.randrange(1900, 2100)}-02-{rng.randrange(1, 28):02d}",
        "raw": rng.choice(["", "AAE=", "/w=="]),
        "at": f"{rng.randrange(1950, 2050)}-06-01T00:00:00.{rng.randrange(10**6):06d}Z",
        "s": rng.choice([{"x": 1, "y": "p"}, {"x": None}, {}]),
        "items": [rng.randrange(9) for _ in range(rng.randrange(4))],
        "tags": rng.choice([{}, {"a": 1.5, "b": 2.0}, {"a": None}]),
        **{name: rng.randrange(3) for name in ("t", "pane", "k0", "a0", "x0", "s0", "level")},
    }
    kept = {name: value for name, value in values.items() if rng.random() > 0.15}
    return {"time": time.isoformat().replace("+00:00", "Z"), **kept}


def record(rng: random.Random) -> bytes:
    text = json.dumps(event(rng))[:-1]
    if rng.random() > 0.2:
        text += f', "small": {rng.randrange(-(10**17), 10**17) / 100:.2f}'
    if rng.random() > 0.2:
        text += f', "wide": {rng.randrange(-(10**19), 10**19)}.{rng.randrange(10**10):010d}'
    return (text + "}").encode()


def records(count: int) -> pa.Table:
    rng = random.Random(7)
    return pa.table(
        {
            "partition": pa.array([i % 2 for i in range(count)], pa.int32()),
            "offset": pa.array([i // 2 for i in range(count)], pa.int64()),
            "timestamp": pa.array([datetime(2026, 10, 25, tzinfo=UTC)] * count, pa.timestamp("us", "UTC")),
            "key": pa.nulls(count, pa.binary()),
            "value": pa.array([record(rng) for _ in range(count)], pa.binary()),
            "content_type": pa.nulls(count, pa.binary()),
        }
    )


def places(table: pa.Table, view: View) -> Partial:
    found = from_arrow(table, view.layout)
    return {(found.keys[key], level, pane): states for (level, key, pane), states in found.states.items()}


def differing(view: View, expected: Partial, found: Partial) -> list[Any]:
    missing = expected.keys() ^ found.keys()
    return [*missing, *(p for p in expected.keys() & found.keys() if not view.equal(expected[p], found[p]))]


@pytest.mark.parametrize(("bulky", "count"), [(False, 4000), (True, 1000)])
def test_three_engines_give_the_same_partials(bulky: bool, count: int, spark: Any) -> None:
    from tarnbeck.spark.partials import partials as in_spark

    app = application()
    views = [view for view in app.views.values() if (view.name in BULKY) == bulky]
    decoded = decode(app.streams["events"], records(count))
    assert decoded.rejects.num_rows == 0
    events = list(rows(decoded.events))
    frame = spark.createDataFrame(decoded.events).cache()
    together = in_arrow(steps(*views), decoded.events)
    for view, kernel in zip(views, together, strict=True):
        expected = in_memory(view, events)
        assert bool(expected) == (view.name != "no_event")
        assert not differing(view, expected, places(kernel, view))[:5], f"kernel: {view.name}"
        catalyst = in_spark(view, frame).toArrow().cast(view.layout.arrow)
        assert not differing(view, expected, places(catalyst, view))[:5], f"spark: {view.name}"
        for states in expected.values():
            view.finish(states)
    frame.unpersist()
