"""Figure: the row of a table as of a moment of the past, against the row that holds now."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

import tarnbeck as tb
from bench import stored
from bench.figure import Figure, Target, percentile
from bench.place import Place
from tarnbeck.plan.view import View
from tarnbeck.schema.decode import events_schema
from tarnbeck.serve.answer import Question, answer
from tarnbeck.serve.clock import now
from tarnbeck.serve.held import NOW, When
from tarnbeck.store.sqlite import SQLiteStore

TARGET = Target(3.0, least=False)
KEYS, CHANGES = 1_000_000, 10
PIECE = 200_000
ASKED = 2_000
START, DAY = 1_767_225_600_000_000, 86_400_000_000


def figures(place: Place) -> Iterator[Figure]:
    with place.fresh("moments") as folder:
        yield measure(folder)


def measure(folder: Path) -> Figure:
    """Both are asked in turn, each time about another key; nine changes are in a generation, the last in an epoch."""
    app = tb.App("bench")
    moves = app.stream("moves", "time timestamp, person string, city string", time="time", key="person")
    view = app.table("homes", moves, key="person", select=["city"])
    store = SQLiteStore(folder, now)
    stored.register(store, app)
    stored.commit(store, view, _changes(view, 0, 0, 0))
    stored.publish(store, view, (piece for change in range(CHANGES - 1) for piece in _pieces(view, change)))
    for piece in _pieces(view, CHANGES - 1):
        stored.commit(store, view, piece)
    draw, taken = random.Random(1), dict[str, list[float]](now=[], past=[])
    for _ in range(ASKED):
        past = When(as_of=START + draw.randrange(CHANGES) * DAY + DAY // 2)
        for name, when in (("now", NOW), ("past", past)):
            question = Question("homes", {"person": _person(draw.randrange(KEYS))}, when=when)
            began = time.perf_counter()
            found = answer(store, question)
            taken[name].append((time.perf_counter() - began) * 1000)
            expected = CHANGES - 1 if when is NOW else ((when.as_of or 0) - START) // DAY
            assert found.dicts()[0]["city"] == f"city {expected}", found.rows
    store.close()
    p50 = {name: percentile(values, 50) for name, values in taken.items()}
    return Figure(
        "moments",
        f"one row of a table of {KEYS:,} keys as of a moment among its {CHANGES} changes, against the row of now",
        f"{p50['past']:.2f} ms (p99 {percentile(taken['past'], 99):.2f})",
        f"{p50['now']:.2f} ms (p99 {percentile(taken['now'], 99):.2f})",
        p50["past"] / p50["now"],
        TARGET,
    )


def _person(number: int) -> str:
    return f"person {number}"


def _pieces(view: View, change: int) -> Iterator[pa.Table]:
    for first in range(0, KEYS, PIECE):
        yield _changes(view, change, first, min(PIECE, KEYS - first))


def _changes(view: View, change: int, first: int, count: int) -> pa.Table:
    """One change of so many keys, each on its own day."""
    moment = pa.array(np.full(count, START + change * DAY)).cast(pa.timestamp("us", "UTC"))
    known = {
        "_time": moment,
        "_received": moment,
        "_partition": pa.array(np.zeros(count, np.int32)),
        "_offset": pa.array(np.arange(count) + change * KEYS + first),
        "_index": pa.array(np.zeros(count, np.int32)),
        "time": moment,
        "person": pa.array([_person(first + number) for number in range(count)]),
        "city": pa.array([f"city {change}"] * count),
    }
    schema = events_schema(view.stream)
    return pa.table([known.get(field.name, pa.nulls(count, field.type)) for field in schema], schema=schema)
