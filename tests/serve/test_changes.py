"""Updates add up to the answer, whoever was told what; timings follow from what was closed before and what is now."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import tarnbeck as tb
from tarnbeck.cut import Cut
from tarnbeck.schema import types
from tarnbeck.serve.answer import Answer, Question, answer
from tarnbeck.serve.changes import EARLY, LATE, ON_TIME, History, Seen, Update, folded, look
from tarnbeck.serve.sse import events as read_events
from tarnbeck.serve.sse import frame, update_of
from tests.serve.sample import Event, filled, random_events

START = datetime(2026, 1, 31, 12, tzinfo=UTC)
COLUMNS = (("key", types.STRING), ("start", types.TIMESTAMP), ("end", types.TIMESTAMP), ("n", types.LONG))
State = dict[tuple[str, int], int]


def seen(number: int, state: State, closed: int | None, version: int = 1) -> Seen:
    minutes = [START + timedelta(minutes=i) for i in range(10)]
    rows = [(key, minutes[at], minutes[at + 1], n) for (key, at), n in sorted(state.items())]
    cut, origin = Cut.of("t", {0: number}), Cut.of("t", {})
    found = Answer("v", version, COLUMNS, list(rows), cut, origin, "minute", None, None, False)
    return Seen(found, 2, True, None if closed is None else minutes[closed])


STATES = st.dictionaries(st.tuples(st.sampled_from("ab"), st.integers(0, 3)), st.integers(1, 3), max_size=6)
STEPS = st.lists(st.tuples(STATES, st.integers(0, 2), st.booleans()), min_size=1, max_size=12)


@given(STEPS, st.lists(st.booleans(), min_size=12, max_size=12), st.integers(1, 12))
def test_whoever_is_told_now_and_then_ends_with_the_whole_answer(
    steps: list[tuple[State, int, bool]], busy: list[bool], kept: int
) -> None:
    history, known, whole = History(kept), None, None
    version = closed = 0
    for number, (state, later, switched) in enumerate(steps, 1):
        version, closed = version + switched, min(closed + later, 9)
        now = seen(number, state, closed, version)
        history.take(now)
        if busy[number - 1] and number < len(steps):
            continue
        update = history.since(known, only_closed=False)
        if update is not None:
            (event,) = read_events(frame(update).splitlines(keepends=True))
            assert update_of(event.data, update) == update
            whole = folded(whole, update, None)
        known = history.number
    assert whole is not None
    assert whole.rows == now.answer.rows


@given(STEPS)
def test_a_window_is_told_on_time_once_and_then_late(steps: list[tuple[State, int, bool]]) -> None:
    history, known, closed = History(), None, 0
    told: dict[tuple[str, datetime], list[str]] = {}
    for number, (state, later, _) in enumerate(steps, 1):
        closed = min(closed + later, 9)
        history.take(seen(number, state, closed))
        update = history.since(known, only_closed=False)
        known = history.number
        for row, timing in update or ():
            told.setdefault((row["key"], row["start"]), []).append(timing)
            assert (timing == EARLY) == (row["end"] > START + timedelta(minutes=closed))
    for timings in told.values():
        assert timings.count(ON_TIME) <= 1
        assert timings == sorted(timings, key=[EARLY, ON_TIME, LATE].index)


@given(STEPS)
def test_closed_windows_only_are_those_of_the_answer_that_are_closed(steps: list[tuple[State, int, bool]]) -> None:
    history, known, whole, closed = History(), None, None, 0
    for number, (state, later, _) in enumerate(steps, 1):
        closed = min(closed + later, 9)
        now = seen(number, state, closed)
        history.take(now)
        update = history.since(known, only_closed=True)
        known = history.number
        assert update is None or EARLY not in update.timings
        whole = whole if update is None else folded(whole, update, None)
        assert whole is not None
        assert whole.rows == [row for row in now.answer.rows if row[2] <= START + timedelta(minutes=closed)]


def _steps(*states: tuple[State, int]) -> tuple[History, list[Update | None]]:
    history, known, told = History(), None, []
    for number, (state, closed) in enumerate(states, 1):
        history.take(seen(number, state, closed))
        told.append(history.since(known, only_closed=False))
        known = history.number
    return history, told


def test_a_window_that_closes_is_told_again_though_its_values_are_the_same() -> None:
    _, told = _steps(({("a", 0): 1}, 0), ({("a", 0): 1, ("b", 1): 1}, 1), ({("a", 0): 2, ("b", 1): 1}, 1))
    assert [update and [(row["key"], row["n"], timing) for row, timing in update] for update in told] == [
        [("a", 1, EARLY)],
        [("a", 1, ON_TIME), ("b", 1, EARLY)],
        [("a", 2, LATE)],
    ]


def test_a_cut_that_moves_without_a_change_tells_nothing() -> None:
    history, told = _steps(({("a", 0): 1}, 0), ({("a", 0): 1}, 0))
    assert told[1] is None
    assert history.id == '{"version":1,"topic":"t","offsets":{"0":2}}'
    assert history.number_of('{"version":1,"topic":"t","offsets":{"0":1}}') == 1


def test_rows_that_time_took_leave_also_when_the_cut_stands_still() -> None:
    history = History()
    history.take(seen(1, {("a", 0): 1, ("a", 1): 1}, 1))
    history.take(seen(1, {("a", 1): 1}, 1))
    known = history.number_of('{"version":1,"topic":"t","offsets":{"0":1}}')
    update = history.since(known, only_closed=False)
    assert update is not None
    assert update.removed == [("a", START)]
    assert not update.changed.rows


def test_who_knows_a_forgotten_state_gets_everything() -> None:
    history = History(kept=2)
    for number in range(1, 5):
        history.take(seen(number, {("a", 0): number}, 0))
    before, forgotten = (history.since(number, only_closed=False) for number in (3, 2))
    assert before is not None
    assert forgotten is not None
    assert (before.reset, forgotten.reset) == (False, True)
    assert history.number_of('{"version":1,"topic":"t","offsets":{"0":2}}') is None


def test_windows_are_closed_up_to_the_newest_pane_of_all_keys(tmp_path: Path, app: tb.App) -> None:
    events: list[Event] = random_events(60)
    store = filled(tmp_path / "store", app, events)
    newest = max(event["_time"] for event in events)
    for view, per, pane in (("by_time", "hour", 1), ("by_time", "minute", 1), ("by_shop", None, 10)):
        found = look(store, Question(view, {"item": "pear"}, per))
        assert found.closed == newest.replace(minute=newest.minute // pane * pane, second=0, microsecond=0)
        assert found.keys == len([name for name in found.answer.names if name in ("item", "shop", "start")])
    total = look(store, Question("total"))
    assert (total.closed, total.keys, total.windowed) == (None, 1, False)
    store.close()


def test_what_updates_add_up_to_has_the_order_of_an_answer(tmp_path: Path, app: tb.App) -> None:
    from tarnbeck.serve.shape import AS_STORED

    store = filled(tmp_path / "store", app, random_events(300))
    for shape in (AS_STORED, replace(AS_STORED, top="orders"), replace(AS_STORED, by=())):
        question = Question("by_shop", shape=shape)
        history = History()
        history.take(look(store, question))
        update = history.since(None, only_closed=False)
        assert update is not None
        assert folded(None, update, shape.top) == answer(store, question)
    store.close()
