"""A small application in a real store: a generation, a closed epoch and an open one over random events."""

from __future__ import annotations

import datetime
import json
import random
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

import tarnbeck as tb
from tarnbeck.app import App
from tarnbeck.cut import Cut
from tarnbeck.memory.partials import partials
from tarnbeck.plan.definition import identity, of_stream, of_view
from tarnbeck.plan.view import View
from tarnbeck.store.protocol import SPEED, Contribution, Refused
from tarnbeck.store.sqlite import SQLiteStore

BEGIN = datetime.datetime(2026, 3, 1, 10, tzinfo=datetime.UTC)
NOW = int(BEGIN.timestamp() + 3600) * 1_000_000
"""One hour after the first event."""
TOPIC = "topic-id"
Event = dict[str, Any]


def shop() -> tb.App:
    app = tb.App("shop")
    orders = app.stream(
        "orders",
        "time timestamp, item string, shop int, price decimal(18,2), weight double, pieces int",
        time="time",
        key="item",
    )
    select = {
        "orders": tb.count(),
        "pieces": tb.sum("pieces"),
        "turnover": tb.sum("price"),
        "dearest": tb.max("price"),
        "last": tb.last("price"),
        "weight": tb.mean("weight"),
    }
    app.view("by_time", orders, by="item", window=tb.rollup("minute", "hour", "day"), select=select)
    app.view("by_shop", orders, by=("item", "shop"), window=tb.tumbling("10 minutes"), select=select)
    app.view("total", orders, by="item", select=select)
    return app


def random_events(count: int, seed: int = 7) -> list[Event]:
    """Events of one hour, some late, some with nulls, in two partitions."""
    draw = random.Random(seed)
    offsets = [0, 0]
    events = []
    for _ in range(count):
        partition = draw.randrange(2)
        moment = BEGIN + datetime.timedelta(microseconds=draw.randrange(3_600_000_000))
        events.append(
            {
                "_partition": partition,
                "_offset": offsets[partition],
                "_index": 0,
                "_received": moment,
                "_time": moment,
                "time": moment,
                "item": draw.choice(["apple", "pear", "plum", None]),
                "shop": draw.choice([1, 2, None]),
                "price": draw.choice([None, Decimal(draw.randrange(100, 9999)).scaleb(-2)]),
                "weight": draw.choice([None, draw.random()]),
                "pieces": draw.choice([None, draw.randrange(10)]),
            }
        )
        offsets[partition] += 1
    return events


def cut_after(events: Iterable[Event]) -> Cut:
    ends: dict[int, int] = {}
    for event in events:
        ends[event["_partition"]] = event["_offset"] + 1
    return Cut.of(TOPIC, ends)


def to_arrow(view: View, events: Iterable[Event]) -> pa.Table:
    found = partials(view, events)
    rows = [(*keys, level, pane, *states) for (keys, level, pane), states in found.items()]
    schema = view.layout.arrow
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pa.Table.from_arrays(
        [pa.array(list(values), field.type) for values, field in zip(columns, schema, strict=True)], schema=schema
    )


def register(store: SQLiteStore, app: App) -> None:
    origin = Cut.of(TOPIC, {})
    for stream in app.streams.values():
        store.register_stream(stream.name, json.dumps(of_stream(stream)), TOPIC, origin, origin)
    for view in app.views.values():
        store.add_view(view.name, view.stream.name, json.dumps(of_view(view)), identity(view), view.layout)


def feed(
    store: SQLiteStore, app: tb.App, before: Sequence[Event], events: Sequence[Event], views: Sequence[str] = ()
) -> None:
    """Commits events that follow those before to the open epochs of the views, all of them when none is named."""
    token = store.take_token(SPEED)
    start, end = cut_after(before), cut_after([*before, *events])
    contributions = [
        Contribution(store.aliases()[name], start, end, view.layout, to_arrow(view, events))
        for name, view in app.views.items()
        if not views or name in views
    ]
    done = store.commit(token, contributions)
    assert not done.refused
    assert not done.gone


def publish(store: SQLiteStore, app: tb.App, events: Sequence[Event]) -> None:
    """Closes the open epochs and publishes generations over all events so far."""
    for name, view in app.views.items():
        version = store.aliases()[name]
        cut = store.roll(version)
        assert cut is not None
        building = store.begin_generation(version, view.layout, cut, None)
        assert not isinstance(building, Refused)
        building.write(to_arrow(view, events))
        building.seal()
        assert not isinstance(store.publish(building, leap=False), Refused)


def filled(folder: Path, app: tb.App, events: Sequence[Event]) -> SQLiteStore:
    """A store whose views consist of a generation, a closed epoch and an open one."""
    store = SQLiteStore(folder, clock=lambda: NOW)
    register(store, app)
    third = len(events) // 3
    feed(store, app, [], events[:third])
    publish(store, app, events[:third])
    feed(store, app, events[:third], events[third : 2 * third])
    for version in store.aliases().values():
        store.roll(version)
    feed(store, app, events[: 2 * third], events[2 * third :])
    return store
