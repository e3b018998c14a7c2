"""What every store promises about versions: switching and its history, rolling back, dropping, replaying."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from tarnbeck.errors import StoreError
from tarnbeck.store.protocol import LeaseLost, Published, Refused, Replay, Switched
from tarnbeck.store.state import Feeder
from tests.contract.stores import COUNTS, STORES, Case, cut, table
from tests.contract.test_concurrency import ROOT

FAR = 10**12


def test_a_switch_goes_only_to_versions_that_answer_and_are_not_behind(case: Case) -> None:
    old = case.view()
    behind = case.view(feeder=Feeder.REPLAY)
    case.feed(old.id, cut(5), [])
    building = case.view()
    assert case.store.switch({"ohlc": behind.id}) == Refused("behind", "ohlc")
    assert case.store.switch({"ohlc": building.id}) == Refused("building", "ohlc")
    assert case.store.switch({"ohlc": 999}) == Refused("gone", "ohlc")
    case.feed(behind.id, cut(5), [])
    assert isinstance(case.store.switch({"ohlc": behind.id}), Switched)
    assert case.store.aliases() == {"ohlc": behind.id}


def test_views_switch_all_together_or_not_at_all(case: Case) -> None:
    old = {name: case.view(name).id for name in "ab"}
    new = {name: case.view(name, feeder=Feeder.REPLAY).id for name in "ab"}
    case.feed(old["b"], cut(5), [])
    assert case.store.switch(new) == Refused("behind", "b")
    assert case.store.aliases() == old
    case.feed(new["b"], cut(5), [])
    assert case.store.switch(new) == Switched(new)


def test_the_version_that_answers_is_not_dropped_but_its_view_can_be(case: Case) -> None:
    live, other = case.view(), case.view()
    with pytest.raises(StoreError, match="can't be dropped"):
        case.store.drop_version(live.id)
    case.store.drop_version(other.id)
    assert list(case.store.versions()) == [live.id]
    case.store.drop_view("ohlc")
    assert not case.store.versions()
    with pytest.raises(StoreError, match="unknown view 'ohlc'"):
        case.store.drop_view("ohlc")


def test_a_switch_is_kept_with_who_when_and_why(case: Case) -> None:
    old = {name: case.view(name).id for name in "ab"}
    new = {name: case.view(name, feeder=Feeder.REPLAY).id for name in "ab"}
    case.now[0] = 77
    case.store.switch(new, who="ann", reason="prices in cents")
    case.now[0] = 88
    case.store.switch({"a": old["a"]}, who="bob", reason="wrong again")
    first, second, third = case.again().switches()
    assert [(s.view, s.before, s.after, s.at) for s in (first, second, third)] == [
        ("a", old["a"], new["a"], 77),
        ("b", old["b"], new["b"], 77),
        ("a", new["a"], old["a"], 88),
    ]
    assert first.id == second.id < third.id
    assert [(s.who, s.reason) for s in (second, third)] == [("ann", "prices in cents"), ("bob", "wrong again")]


def test_a_switch_to_what_answers_already_or_that_is_refused_is_no_history(case: Case) -> None:
    live = case.view().id
    assert case.store.switch({"ohlc": live}) == Switched({"ohlc": live})
    assert case.store.switch({"ohlc": 99}) == Refused("gone", "ohlc")
    assert not case.store.switches()


def test_a_switch_that_expects_another_version_to_answer_is_refused(case: Case) -> None:
    first, second, third = (case.view(feeder=Feeder.REPLAY).id for _ in range(3))
    case.store.switch({"ohlc": third})
    assert case.store.switch({"ohlc": second}, expected={"ohlc": first}) == Refused("alias", "ohlc")
    assert isinstance(case.store.switch({"ohlc": second}, expected={"ohlc": third}), Switched)


def _replay(case: Case, version: int, end: int = 6) -> Replay:
    found = case.store.replay_generation(version, COUNTS, cut(end))
    assert not isinstance(found, Refused)
    return found


def _building(case: Case) -> int:
    """A version that is fed from offset 6 on and can't answer before a generation fills what is below."""
    case.feed(case.view().id, cut(6), [("EUR", 0, 0, 6)])
    return case.view().id


def test_a_replay_that_was_left_goes_on_from_what_was_saved(case: Case) -> None:
    version = _building(case)
    replay = _replay(case, version)
    assert replay.done == cut()
    replay.write(table(COUNTS, [("EUR", 0, 0, 2)]))
    replay.save(cut(2))
    replay.write(table(COUNTS, [("EUR", 0, 0, 2)]))
    replay.pause()
    case.now[0] += FAR
    case.store.collect()
    resumed = _replay(case, version, end=9)
    assert (resumed.id, resumed.done, resumed.cut) == (replay.id, cut(2), cut(6))
    resumed.write(table(COUNTS, [("EUR", 0, 0, 4)]))
    resumed.seal()
    assert isinstance(case.store.publish(resumed, False), Published)
    assert isinstance(case.store.switch({"ohlc": version}), Switched)
    assert case.rows() == [("EUR", 0, 0, 6)]


def test_a_replay_that_was_sealed_but_not_published_only_needs_publishing(case: Case) -> None:
    version = _building(case)
    replay = _replay(case, version)
    replay.write(table(COUNTS, [("EUR", 0, 0, 6)]))
    replay.save(cut(6))
    replay.seal()
    case.now[0] += FAR
    case.store.collect()
    resumed = _replay(case, version)
    assert (resumed.id, resumed.done, resumed.cut) == (replay.id, cut(6), cut(6))
    resumed.seal()
    assert isinstance(case.store.publish(resumed, False), Published)
    resumed.pause()
    assert case.store.publish(replay, False) == Refused("removed")
    replay.abandon()
    assert isinstance(case.store.switch({"ohlc": version}), Switched)
    assert case.rows() == [("EUR", 0, 0, 6)]


def test_a_replay_whose_builder_lives_is_not_resumed_by_another(case: Case) -> None:
    version = _building(case)
    replay = _replay(case, version)
    replay.save(cut(2))
    other = case.again().replay_generation(version, COUNTS, cut(6))
    assert not isinstance(other, Refused)
    assert (other.id != replay.id, other.done) == (True, cut())
    other.abandon()
    replay.abandon()


def test_what_was_saved_is_collected_once_nothing_needs_it(case: Case) -> None:
    version = _building(case)
    replay = _replay(case, version)
    replay.save(cut(2))
    replay.pause()
    assert isinstance(case.built(version, cut(6), [("EUR", 0, 0, 6)]), Published)
    case.now[0] += FAR
    assert case.store.collect().generations == 1
    assert _replay(case, version).id != replay.id


@pytest.mark.parametrize("then", [lambda replay: replay.save(cut(2)), lambda replay: replay.seal()])
def test_a_replay_that_saved_nothing_is_collected_when_its_lease_is_over(
    then: Callable[[Replay], None], case: Case
) -> None:
    replay = _replay(case, _building(case))
    replay.write(table(COUNTS, [(f"key{i}", 0, 0, 2) for i in range(1000)]))
    case.now[0] += FAR
    case.store.collect()
    with pytest.raises(LeaseLost):
        then(replay)
    replay.pause()


def test_a_dropped_version_is_not_replayed(case: Case) -> None:
    version = _building(case)
    replay = _replay(case, version)
    replay.save(cut(2))
    case.store.drop_version(version)
    replay.seal()
    assert case.store.publish(replay, False) == Refused("gone")
    assert case.store.replay_generation(version, COUNTS, cut(6)) == Refused("gone")


WRITER = """
import sys
from pathlib import Path
from tests.contract.stores import COUNTS, STORES, cut, table

store = STORES[sys.argv[1]](Path(sys.argv[2]), lambda: 0)
replay = store.replay_generation(int(sys.argv[3]), COUNTS, cut(100_000))
while True:
    replay.write(table(COUNTS, [(f"key{i}", 0, 0, 1) for i in range(500)]))
    replay.save(cut(replay.done[0] + 1))
    print(replay.done[0], flush=True)
"""


def test_a_replay_whose_builder_was_killed_is_whole_up_to_what_was_saved(case: Case) -> None:
    case.feed(case.view().id, cut(100_000), [])
    version = case.view().id
    name = next(name for name, opened in STORES.items() if opened is case.open)
    command = [sys.executable, "-c", WRITER, name, str(case.folder), str(version)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as writer:
        assert writer.stdout is not None
        told = [int(next(writer.stdout)) for _ in range(4)]
        writer.send_signal(signal.SIGKILL)
        told += [int(line) for line in writer.stdout]
    resumed = _replay(case, version)
    saved = resumed.done[0]
    assert saved in (told[-1], told[-1] + 1)
    resumed.seal()
    assert isinstance(case.store.publish(resumed, False), Published)
    assert isinstance(case.store.switch({"ohlc": version}), Switched)
    rows = case.rows()
    assert (len(rows), {row[-1] for row in rows}) == (500, {saved})
