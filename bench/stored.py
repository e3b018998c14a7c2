"""Fills a store without a log and without Spark: for figures that are about reading alone."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pyarrow as pa

import tarnbeck as tb
from tarnbeck.arrow.partials import partials, steps
from tarnbeck.cut import Cut
from tarnbeck.plan.definition import identity, of_stream, of_view
from tarnbeck.plan.view import View
from tarnbeck.store.protocol import SPEED, Contribution, Refused
from tarnbeck.store.sqlite import SQLiteStore

TOPIC = "bench"


def register(store: SQLiteStore, app: tb.App) -> None:
    """Makes the streams and views known, none of which holds anything yet."""
    origin = Cut.of(TOPIC, {})
    for stream in app.streams.values():
        store.register_stream(stream.name, json.dumps(of_stream(stream)), TOPIC, origin, origin)
    for view in app.views.values():
        store.add_view(view.name, view.stream.name, json.dumps(of_view(view)), identity(view), view.layout)


def commit(store: SQLiteStore, view: View, events: pa.Table) -> None:
    """To the open epoch, as if all these events stood at one offset: where they stand is no matter here."""
    (partial,) = partials(steps(view), events)
    version = store.versions()[store.aliases()[view.name]]
    end = Cut.of(TOPIC, {0: version.cut[0] + 1})
    share = Contribution(version.id, version.cut, end, view.layout, partial)
    assert store.commit(store.take_token(SPEED), [share]).done, "a new store takes what is contributed"


def publish(store: SQLiteStore, view: View, events: Iterable[pa.Table]) -> None:
    """A generation of these events, at the view's cut."""
    version = store.aliases()[view.name]
    cut = store.roll(version)
    assert cut is not None, "the version was just made"
    building = store.begin_generation(version, view.layout, cut, None)
    assert not isinstance(building, Refused), building
    for piece in events:
        (partial,) = partials(steps(view), piece)
        building.write(partial)
    building.seal()
    outcome = store.publish(building, leap=False)
    assert not isinstance(outcome, Refused), outcome
