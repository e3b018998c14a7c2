"""Without a batch layer, closed epochs become a generation, and no answer changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tarnbeck.serve.answer import Question, answer
from tarnbeck.speed import merge
from tarnbeck.store.sqlite import SQLiteStore
from tests.serve.sample import Event, cut_after, feed, filled, random_events, register, shop


@pytest.mark.parametrize("batched", [True, False], ids=["after a generation", "from the origin"])
def test_merging_closed_epochs_changes_no_answer(batched: bool, tmp_path: Path) -> None:
    app, events = shop(), random_events(300)
    if batched:
        store = filled(tmp_path, app, events)
    else:
        store = SQLiteStore(tmp_path, clock=lambda: 0)
        register(store, app)
        feed(store, app, [], events)
    before = _answers(store)
    for version in list(store.versions()):
        done = merge.run(store, version)
        assert (done.cut, done.rows > 0) == (cut_after(events), True)
    assert _answers(store) == before
    for state in store.versions().values():
        assert state.generation is not None
        assert (state.generation.cut, len(state.epochs)) == (cut_after(events), 1)
    again = merge.run(store, next(iter(store.versions())))
    assert (again.records, again.rows) == (0, 0)
    more: list[Event] = [event | {"_offset": event["_offset"] + 1000} for event in random_events(30, seed=8)]
    feed(store, app, events, more)
    assert _answers(store) != before
    store.close()


def _answers(store: SQLiteStore) -> str:
    return json.dumps([answer(store, Question(view, limit=10_000)).dicts() for view in store.aliases()], default=str)
