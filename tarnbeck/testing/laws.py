"""The laws that every aggregate keeps, as a suite: run it on your own.

Views are monoids over spans: however events are split into spans and in whatever order the spans are merged, the
result is the same, in plain Python and in the SQL kernel alike.
"""

from __future__ import annotations

import datetime
from typing import Any

import hypothesis.strategies as st
import pyarrow as pa
from hypothesis import HealthCheck, Phase, given, settings

from tarnbeck.algebra.aggregate import UNIX, Aggregate
from tarnbeck.algebra.custom import Custom
from tarnbeck.app import App
from tarnbeck.arrow import partials as arrow
from tarnbeck.memory.partials import Partial, merged, partials
from tarnbeck.plan.view import View
from tarnbeck.schema.decode import events_schema
from tarnbeck.store.rows import from_arrow
from tarnbeck.window.window import Window, tumbling

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "int": st.integers(-(2**31), 2**31 - 1),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "double": st.floats(-1e12, 1e12, allow_nan=False).map(lambda value: value + 0.0),
    "decimal(18,2)": st.decimals(-(10**15), 10**15, places=2),
    "decimal(30,10)": st.decimals(-(10**19), 10**19, places=10),
    "string": st.text(st.characters(codec="utf-8"), max_size=5),
    "timestamp": st.datetimes(
        datetime.datetime(1900, 1, 1), datetime.datetime(2200, 1, 1), timezones=st.just(datetime.UTC)
    ),
    "date": st.dates(datetime.date(1900, 1, 1), datetime.date(2200, 1, 1)),
    "binary": st.binary(max_size=5),
}
"""How to make values of each type that an aggregate's argument can have."""

Row = dict[str, Any]


def check(
    aggregate: Aggregate | Custom, column_type: str = "bigint", *, window: Window | None = None, examples: int = 100
) -> None:
    """Raises an AssertionError with the smallest counter-example when the aggregate breaks a law.

    The aggregate is taken over a column named `value` of this type, and one named `other` of the same type for those
    that take two; null is among their values.
    """
    view = _view(aggregate, column_type, window or tumbling("1 minute"))

    tried = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=set(Phase) - {Phase.explain},
        suppress_health_check=list(HealthCheck),
    )

    @tried
    @given(_events(column_type), _order)
    def order(events: list[Row], order: list[int]) -> None:
        whole = partials(view, events)
        parts = [partials(view, span) for span in _split(events, order)]
        _same(view, whole, merged(view, parts), "merging spans of the log in another order")
        for states in whole.values():
            view.finish(states)

    @tried
    @given(_events(column_type), _order)
    def kernel(events: list[Row], order: list[int]) -> None:
        whole = partials(view, events)
        _same(view, whole, _kernel(view, events), "the SQL kernel")
        computed = [_kernel(view, span) for span in _split(events, order) if span]
        _same(view, whole, merged(view, computed), "merging what the SQL kernel made of spans")

    # Plain Python first: it is quick, so that a mistake there is found and made small within seconds (explaining
    # which parts of the smallest example matter would take four times as long as finding it).
    order()
    kernel()


def _view(aggregate: Aggregate | Custom, column_type: str, window: Window) -> View:
    app = App("laws")
    stream = app.stream("events", f"time timestamp, key string, value {column_type}, other {column_type}", time="time")
    return app.view("law", stream, by="key", window=window, select={"result": aggregate})


@st.composite
def _events(draw: st.DrawFn, column_type: str) -> list[Row]:
    # Half the time all events are of one key and minute: what merging does is seen where states meet.
    apart = draw(st.booleans())
    micros = st.integers(-120_000_000, 120_000_000) if apart else st.integers(0, 59_999_999)
    moments = micros.map(lambda us: UNIX + datetime.timedelta(microseconds=us))
    value = st.none() | VALUES[column_type]
    row = st.tuples(moments, st.sampled_from(["a", "b", None] if apart else ["a"]), value, value, st.integers(0, 1))
    offsets = [0, 0]
    events = []
    # Left alone, lists are mostly so short that nothing is merged.
    least = draw(st.sampled_from([0, 8]))
    for time, key, first, second, partition in draw(st.lists(row, min_size=least, max_size=20)):
        place = {"_partition": partition, "_offset": offsets[partition], "_index": 0}
        offsets[partition] += 1
        seen = {"time": time, "key": key, "value": first, "other": second}
        events.append({**place, "_received": time, "_time": time, **seen})
    return events


_order = st.lists(st.integers(0, 3), min_size=2, max_size=7)
"""Which span each event goes to, over and over: drawn as plain numbers, which shrink quickly."""


def _split(events: list[Row], order: list[int]) -> list[list[Row]]:
    spans: list[list[Row]] = [[] for _ in range(4)]
    for place, event in enumerate(events):
        spans[order[place % len(order)]].append(event)
    return spans


def _kernel(view: View, events: list[Row]) -> Partial:
    schema = events_schema(view.stream)
    rows = [{**event, "_extra": None} for event in events]
    table = pa.Table.from_pylist(rows, schema=schema)
    (partial,) = arrow.partials(arrow.steps(view), table)
    found = from_arrow(partial, view.layout)
    return {(found.keys[key], level, pane): states for (level, key, pane), states in found.states.items()}


def _same(view: View, expected: Partial, found: Partial, what: str) -> None:
    if expected.keys() != found.keys():
        raise AssertionError(f"{what} gave other rows: {sorted(map(str, expected.keys() ^ found.keys()))}")
    for place, states in expected.items():
        if not view.equal(states, found[place]):
            raise AssertionError(f"{what} changed the state at {place}: {states} became {found[place]}")
