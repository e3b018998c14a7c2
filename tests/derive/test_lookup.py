"""What is joined with a table waits for the older rows that its stream has in files."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import tarnbeck as tb
from tarnbeck.cut import Cut
from tarnbeck.derive import lookup
from tarnbeck.errors import NotReady
from tarnbeck.store.protocol import LOADED, Refused
from tarnbeck.store.sqlite import SQLiteStore
from tests.serve.sample import TOPIC, register, to_arrow


def covers(store: SQLiteStore, table: tb.View, cut: Cut) -> bool:
    stop = threading.Event()
    stop.set()
    try:
        lookup.await_table(store, table, cut, stop)
    except NotReady:
        return False
    return True


@pytest.mark.parametrize("history", [(), "old/*.csv"], ids=["without files", "with files"])
def test_a_table_is_ready_when_all_of_its_files_are_in_it(history: str, tmp_path: Path) -> None:
    app = tb.App("people")
    moves = app.stream("moves", "time timestamp, person string, city string", time="time", history=history)
    homes = app.table("homes", moves, key="person")
    store, begin = SQLiteStore(tmp_path, clock=lambda: 0), Cut(TOPIC)
    register(store, app)
    assert covers(store, homes, begin) == (not history)
    assert not covers(store, homes, Cut.of(TOPIC, {0: 1}))
    store.set_meta(LOADED + "moves", "7")
    assert covers(store, homes, begin) == (not history)
    building = store.begin_generation(store.aliases()["homes"], homes.layout, begin.with_history(7), None)
    assert not isinstance(building, Refused)
    building.write(to_arrow(homes, []))
    building.seal()
    store.publish(building, leap=False)
    assert covers(store, homes, begin)
    store.close()
