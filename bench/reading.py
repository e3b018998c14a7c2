"""Figures: what the server itself takes to answer, without HTTP: one sliding window, and a month of minutes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

import tarnbeck as tb
from bench import stored
from bench.declared import SCHEMA, key_of
from bench.figure import Figure, Target, percentile
from bench.place import Place
from tarnbeck.plan.view import View
from tarnbeck.schema.decode import events_schema
from tarnbeck.serve.answer import Question, answer
from tarnbeck.serve.clock import now
from tarnbeck.serve.render import JSON
from tarnbeck.serve.render import answer as rendered
from tarnbeck.serve.shape import Shape
from tarnbeck.store.sqlite import SQLiteStore

SECOND, MINUTE = 1_000_000, 60_000_000
MONTH = 31 * 24 * 60 * MINUTE
HALF_HOUR = 1800 * SECOND
KEYS = 10
START = 1_767_225_600 * SECOND
"""The first of a January of 31 days."""
WINDOW, MINUTES = "window", "minutes"
BOUNDS = {WINDOW: 2.0, MINUTES: 50.0}
"""Milliseconds that the median may take."""
ASKED = {WINDOW: 500, MINUTES: 50}


def figures(place: Place) -> Iterator[Figure]:
    with place.fresh("reading") as folder:
        yield from measure(folder)


def measure(folder: Path) -> Iterator[Figure]:
    """Nothing is asked twice, so no answer is a remembered one."""
    app = declare()
    store = SQLiteStore(folder, now)
    _fill(store, app)
    what = {
        WINDOW: "10 minutes as one window (`every=all`) from 600 panes of a second, as JSON, inside the server, "
        "against its bound",
        MINUTES: "a month of minutes of one key, as JSON, inside the server, against its bound",
    }
    for name, bound in BOUNDS.items():
        taken, size = _ask(store, name)
        yield Figure(
            f"reading / {name}",
            what[name],
            f"{percentile(taken, 50):.2f} ms (p99 {percentile(taken, 99):.2f})",
            f"{bound:g} ms",
            percentile(taken, 50) / bound,
            Target(1.0, least=False),
            notes=(f"an answer has {size:,} bytes",),
        )
    store.close()


def declare() -> tb.App:
    app = tb.App("bench")
    events = app.stream("events", SCHEMA, time="time", key="key")
    select = {"events": tb.count(), "total": tb.sum("value")}
    app.view(WINDOW, events, by="key", window=tb.sliding("10 minutes", every="1 second"), select=select)
    app.view(MINUTES, events, by="key", window=tb.tumbling("1 minute"), select=select)
    return app


def _ask(store: SQLiteStore, name: str) -> tuple[list[float], int]:
    """The milliseconds of each question, and the size of an answer."""
    taken, size = [], 0
    for number in range(ASKED[name]):
        key = {"key": key_of(number % KEYS)}
        if name == WINDOW:
            since = START + (600 + number) * SECOND
            question = Question(name, key, since=since, until=since + 600 * SECOND, shape=Shape(one=True))
        else:
            question = Question(name, key, since=START + number * MINUTE, limit=100_000)
        began = time.perf_counter()
        body = rendered(answer(store, question), JSON)
        taken.append((time.perf_counter() - began) * 1000)
        size = len(body)
    return taken, size


def _fill(store: SQLiteStore, app: tb.App) -> None:
    """A generation of all but the end of each view, and the rest in an open epoch."""
    stored.register(store, app)
    for name, (distance, end) in {WINDOW: (SECOND, HALF_HOUR), MINUTES: (MINUTE, MONTH)}.items():
        view, last = app.views[name], START + end - end // 10
        stored.commit(store, view, _events(view, START, START, distance))
        stored.publish(store, view, [_events(view, START, last, distance)])
        stored.commit(store, view, _events(view, last, START + end, distance))


def _events(view: View, start: int, end: int, distance: int) -> pa.Table:
    """One event of each key every so often."""
    times = np.repeat(np.arange(start, end, distance), KEYS)
    keys = np.tile([key_of(number) for number in range(KEYS)], len(times) // KEYS)
    known = {
        "_time": pa.array(times).cast(pa.timestamp("us", "UTC")),
        "key": pa.array(keys),
        "value": pa.array(times % 997 / 7.0),
    }
    schema = events_schema(view.stream)
    return pa.table([known.get(field.name, pa.nulls(len(times), field.type)) for field in schema], schema=schema)
