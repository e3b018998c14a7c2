"""Views that share aggregations have the very partials that they have alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

import tarnbeck as tb
from tarnbeck.arrow.partials import partials, steps
from tarnbeck.memory.partials import Partial
from tarnbeck.plan.share import share
from tarnbeck.plan.view import View
from tarnbeck.schema.decode import events_schema
from tarnbeck.store.rows import from_arrow
from tests.effort import tries

KEYS: list[Any] = [
    "key",
    ["key", "side"],
    ["side", "key"],
    {"a": "lower(key)", "b": "key"},
    {"x": "key", "y": "key"},
    (),
]
WHERES = [None, "n > 0"]
LATES = [None, "drop after 1 minute"]
WINDOWS = [
    tb.all_time(),
    tb.tumbling("1 minute"),
    tb.tumbling("90 seconds"),
    tb.tumbling("1 week"),
    tb.sliding("10 minutes", every="10 seconds"),
    tb.sliding("2 weeks", every="1 week"),
    tb.session("30 seconds"),
    tb.rollup("second", "minute", "hour", "day", "year"),
    tb.rollup("minute", "hour", "day", zone="Europe/Vienna"),
    tb.rollup("day", "month"),
]
SELECTS: list[dict[str, Any]] = [
    {"count": tb.count(), "total": tb.sum("n")},
    {"mean": tb.mean("d"), "count": tb.count("n")},
    {"open": tb.first("n"), "close": tb.last("n"), "low": tb.min("d"), "spread": "close - open"},
    {"variance": tb.variance("d"), "some": tb.any("n > 3")},
    {"who": tb.uniques("key"), "count": tb.count()},
    {"middle": tb.quantile("d", 0.5), "last": tb.last("n", 2), "kinds": tb.distinct("n", most=4)},
]
START = datetime(2026, 10, 24, 21, tzinfo=UTC)

declared = st.tuples(*(st.sampled_from(choices) for choices in (KEYS, WHERES, LATES, WINDOWS, SELECTS)))
event = st.tuples(
    st.sampled_from(["a", "A", "b", None]),
    st.sampled_from(["buy", "sell"]),
    st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5) | st.none(),
    st.floats(-1e9, 1e9).map(lambda value: value + 0.0),
    st.integers(0, 10_000),
    st.integers(0, 120),
)


def views(choices: list[tuple[Any, ...]]) -> list[View]:
    app = tb.App("sharing")
    stream = app.stream("events", "time timestamp, key string, side string, n bigint, d double", time="time")
    return [
        app.view(f"v{i}", stream, by=by, where=where, late=late, window=window, select=select)
        for i, (by, where, late, window, select) in enumerate(choices)
    ]


def table(view: View, found: list[tuple[Any, ...]]) -> pa.Table:
    rows = []
    for offset, (key, side, n, d, seconds, late) in enumerate(found):
        time = START + timedelta(seconds=seconds)
        place = {"_partition": 0, "_offset": offset, "_index": 0, "_received": time + timedelta(seconds=late)}
        rows.append({**place, "_time": time, "time": time, "key": key, "side": side, "n": n, "d": d, "_extra": None})
    return pa.Table.from_pylist(rows, schema=events_schema(view.stream))


def places(partial: pa.Table, view: View) -> Partial:
    found = from_arrow(partial, view.layout)
    return {(found.keys[key], level, pane): states for (level, key, pane), states in found.states.items()}


@pytest.mark.long
@settings(deadline=None, max_examples=tries(60), suppress_health_check=list(HealthCheck))
@given(st.lists(declared, min_size=2, max_size=8), st.lists(event, max_size=30))
def test_shared_and_unshared_partials_are_equal(choices: list[tuple[Any, ...]], events: list[tuple[Any, ...]]) -> None:
    declared_views = views(choices)
    given_events = table(declared_views[0], events)
    together = partials(steps(*declared_views), given_events)
    for view, shared in zip(declared_views, together, strict=True):
        (alone,) = partials(steps(view), given_events)
        assert shared.schema == alone.schema
        assert shared.num_rows == alone.num_rows
        expected, found = places(alone, view), places(shared, view)
        assert expected.keys() == found.keys()
        assert all(view.equal(expected[place], found[place]) for place in expected)


def passes(*choices: tuple[Any, ...]) -> int:
    """How often the events themselves are grouped."""
    return sum(planned.source is None for planned in share(views(list(choices))).aggregations)


COUNT, WHO = SELECTS[0], SELECTS[4]


def test_the_same_keys_and_pane_are_one_pass_whatever_is_selected() -> None:
    minute = tb.tumbling("1 minute")
    same = [("key", None, None, minute, select) for select in SELECTS]
    assert passes(*same) == 1
    assert passes(("key", None, None, minute, COUNT), ({"name": "key"}, None, None, minute, COUNT)) == 1
    assert passes((["side", "key"], None, None, minute, COUNT), (["key", "side"], None, None, minute, COUNT)) == 1


def test_longer_panes_are_put_together_from_shorter_ones() -> None:
    windows = [tb.all_time(), tb.rollup("second", "hour"), tb.tumbling("1 minute"), tb.sliding("1 h", every="10 s")]
    assert passes(*(("key", None, None, window, COUNT) for window in windows)) == 1
    assert passes(*(("key", None, None, tb.tumbling(length), COUNT) for length in ("60 s", "90 s"))) == 2
    # Weeks begin on Mondays: a day divides them, five days don't.
    assert passes(*(("key", None, None, tb.tumbling(length), COUNT) for length in ("1 day", "1 week"))) == 1
    assert passes(*(("key", None, None, tb.tumbling(length), COUNT) for length in ("2 days", "2 weeks"))) == 1
    assert passes(*(("key", None, None, tb.tumbling(length), COUNT) for length in ("7 hours", "1 week"))) == 2


def test_sketches_are_not_made_for_panes_that_nobody_asks_for() -> None:
    day, second = tb.tumbling("1 day"), tb.tumbling("1 second")
    planned = share(views([("key", None, None, day, WHO), ("key", None, None, second, COUNT)])).aggregations
    assert [len(each.view.packed) for each in planned if each.source is None] == [1, 0]


def test_other_events_or_other_keys_are_passes_of_their_own() -> None:
    minute = tb.tumbling("1 minute")
    assert passes(("key", None, None, minute, COUNT), ("key", "n > 0", None, minute, COUNT)) == 2
    assert passes(("key", None, None, minute, COUNT), ("key", None, "drop after 1 minute", minute, COUNT)) == 2
    assert passes(("key", None, None, minute, COUNT), ("side", None, None, minute, COUNT)) == 2
