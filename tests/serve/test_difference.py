"""Two versions of a view, compared at one cut."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tarnbeck as tb
from tarnbeck.algebra.aggregate import Aggregate
from tarnbeck.errors import NotReady
from tarnbeck.plan.definition import identity, of_view
from tarnbeck.plan.view import View
from tarnbeck.serve.difference import compare
from tarnbeck.store.protocol import Contribution
from tarnbeck.store.sqlite import SQLiteStore
from tarnbeck.store.state import Feeder
from tests.serve.sample import Event, cut_after, filled, shop, to_arrow

ONCE: dict[str, Any] = {"patience": 0}


@pytest.fixture
def changed(events: list[Event], tmp_path: Path) -> Iterator[SQLiteStore]:
    store = filled(tmp_path, shop(), events)
    yield store
    store.close()


def total(select: dict[str, Aggregate | str], where: str | None = None) -> View:
    app = shop()
    del app.views["total"]
    return app.view("total", app.streams["orders"], by="item", where=where, select=select)


def added(store: SQLiteStore, view: View, events: list[Event]) -> int:
    """Another version of the view, replayed over the events."""
    text = json.dumps(of_view(view))
    version = store.add_view(view.name, "orders", text, identity(view), view.layout, Feeder.REPLAY)
    kept = [event for event in events if view.where is None or view.where.python()(event) is True]
    share = Contribution(version.id, version.cut, cut_after(events), view.layout, to_arrow(view, kept))
    assert store.commit(None, [share]).done
    return version.id


def test_the_same_definition_replayed_is_equal(changed: SQLiteStore, events: list[Event]) -> None:
    view = shop().views["by_time"]
    found = compare(changed, "by_time", changed.aliases()["by_time"], added(changed, view, events), **ONCE)
    assert (found.equal, found.cut, found.samples) == (True, cut_after(events), ())
    assert found.rows > 100
    assert all(column.differs == 0 and column.same == found.rows for column in found.columns)


def test_rows_and_columns_that_differ_are_counted_and_shown(changed: SQLiteStore, events: list[Event]) -> None:
    view = total({"orders": tb.count(), "pieces": tb.sum("pieces + 1"), "least": tb.min("price")}, "item <> 'plum'")
    old, new = changed.aliases()["total"], added(changed, view, events)
    found = compare(changed, "total", old, new, **ONCE)
    assert (found.equal, found.rows, found.differs, found.only_old, found.only_new) == (False, 2, 2, 2, 0)
    assert [(c.name, c.same, c.differs) for c in found.columns] == [("orders", 2, 0), ("pieces", 0, 2)]
    assert found.columns_new == ("least",)
    assert set(found.columns_old) == {"turnover", "dearest", "last", "weight"}
    differing, missing = found.samples[0], found.samples[-1]
    assert (differing.keys, differing.old is not None, differing.new is not None) == (("apple",), True, True)
    assert (missing.old is not None, missing.new) == (True, None)


def test_windows_of_other_lengths_have_no_rows_in_common(changed: SQLiteStore, events: list[Event]) -> None:
    app = shop()
    select: dict[str, Aggregate | str] = {"orders": tb.count()}
    view = app.view("hours", app.streams["orders"], by="item", window=tb.tumbling("1 hour"), select=select)
    longer = View("by_shop", view.stream, view.keys, view.where, view.window, view.outputs, view.states)
    found = compare(changed, "by_shop", changed.aliases()["by_shop"], added(changed, longer, events), **ONCE)
    assert (found.rows, found.only_new > 0, found.only_old > 0) == (0, True, True)


def test_versions_that_stand_at_other_cuts_or_are_building_are_not_compared(
    changed: SQLiteStore, events: list[Event]
) -> None:
    view, live = shop().views["total"], changed.aliases()["total"]
    behind = added(changed, view, events[:-1])
    with pytest.raises(NotReady, match="different cuts"):
        compare(changed, "total", live, behind, **ONCE)
    building = changed.add_view("total", "orders", json.dumps(of_view(view)), identity(view), view.layout)
    with pytest.raises(NotReady, match=f"version {building.id} can't answer yet"):
        compare(changed, "total", live, building.id, **ONCE)
