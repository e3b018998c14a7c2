"""Without a batch layer, closed epochs become a generation, and no answer changes."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from tarnbeck.cut import HISTORY, Span
from tarnbeck.plan.view import View
from tarnbeck.serve.answer import Question, answer
from tarnbeck.speed import merge
from tarnbeck.store import rules
from tarnbeck.store.protocol import HISTORY as ROLE
from tarnbeck.store.sqlite import SQLiteStore
from tests.serve.sample import Event, cut_after, feed, filled, random_events, register, shop, to_arrow
from tests.serve.test_keep import event, started


def none(view: View, span: Span) -> pa.Table:
    raise AssertionError(f"view '{view.name}' has no history, and {span} was asked for")


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
        done = merge.run(store, version, none)
        assert (done.cut, done.rows > 0) == (cut_after(events), True)
    assert _answers(store) == before
    for state in store.versions().values():
        assert state.generation is not None
        assert (state.generation.cut, len(state.epochs)) == (cut_after(events), 1)
    again = merge.run(store, next(iter(store.versions())), none)
    assert (again.records, again.rows) == (0, 0)
    more: list[Event] = [event | {"_offset": event["_offset"] + 1000} for event in random_events(30, seed=8)]
    feed(store, app, events, more)
    assert _answers(store) != before
    store.close()


def test_what_is_kept_after_a_merge_is_what_was_kept_before_it(tmp_path: Path) -> None:
    made = started(tmp_path)
    made.feed([event(offset, offset * 20_000_000, 0, "a") for offset in range(60)])
    before = [made.ask(view) for view in made.app.views]
    for version in list(made.store.versions()):
        merge.run(made.store, version, none)
    # Whoever asked before may remember; a store that is opened anew can't.
    made.store.close()
    made.store = SQLiteStore(tmp_path, clock=lambda: 0)
    assert [made.ask(view) for view in made.app.views] == before
    assert all(answer.kept_since is not None for answer in before)


def test_a_merge_takes_history_in_while_epochs_go_on(tmp_path: Path) -> None:
    app, events = shop(), random_events(300)
    store = SQLiteStore(tmp_path, clock=lambda: 0)
    register(store, app)
    feed(store, app, [], events[:200])
    old: list[Event] = [{**event, "_partition": HISTORY, "_offset": row} for row, event in enumerate(events[:50])]
    have = store.lake_cut("orders")
    intent = store.open_intent(store.take_token(ROLE), "orders", have, have.with_history(50))
    assert intent is not None
    assert store.close_intent(intent)

    def history(view: View, span: Span) -> pa.Table:
        # The speed layer does not wait for the merge.
        feed(store, app, events[:200], events[200:], views=[view.name])
        return to_arrow(view, [each for each in old if (HISTORY, each["_offset"]) in span])

    for version in store.versions().values():
        done = merge.run(store, version.id, history)
        assert done.cut == cut_after(events[:200]).with_history(50)
        state = store.versions()[version.id]
        assert (rules.answerable(state), state.cut) == (True, cut_after(events).with_history(50))
    rows = sum(row["orders"] for row in answer(store, Question("total", limit=100)).dicts())
    assert rows == len(events) + len(old)
    again = merge.run(store, next(iter(store.versions())), none)
    assert again.cut == cut_after(events).with_history(50)
    store.close()


def _answers(store: SQLiteStore) -> str:
    return json.dumps([answer(store, Question(view, limit=10_000)).dicts() for view in store.aliases()], default=str)
