"""Random histories against the real store: whatever crashes, pauses or doubles, no event is lost or counted twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from tests.simulator.history import History, crowded, history_of, play, replayed, shrink
from tests.simulator.settling import interrupted, loaded
from tests.simulator.world import Violation

HISTORIES = 2_500
CHUNK = 250
PROCESSES = 2
CROWDS = pytest.mark.parametrize("seeds", [range(15), pytest.param(range(15, 75), marks=pytest.mark.long)], ids=str)


def _failures(seeds: Iterable[int]) -> tuple[list[tuple[int, str]], Counter[str]]:
    found, happened = [], Counter[str]()
    for seed in seeds:
        violation, what = play(history_of(seed))
        happened += what
        if violation is not None:
            found.append((seed, str(violation)))
    return found, happened


def _explained(seed: int, text: str) -> str:
    shortest = shrink(history_of(seed), text.split(":")[0])
    violation, _ = play(shortest)
    return f"seed {seed}: {text}\nshrunk to {shortest}\nwhich gives {violation}"


def test_a_hundred_histories_violate_nothing() -> None:
    found, _ = _failures(range(HISTORIES, HISTORIES + 100))
    assert not found, _explained(*found[0])


@CROWDS
def test_crowds_of_batches_violate_nothing(seeds: range) -> None:
    found = [(seed, violation) for seed in seeds if (violation := play(crowded(seed))[0])]
    assert not found, f"crowded seed {found[0][0]}: {found[0][1]}"


@CROWDS
def test_crowds_of_replays_violate_nothing(seeds: range) -> None:
    found = [(seed, violation) for seed in seeds if (violation := play(replayed(seed))[0])]
    assert not found, f"replayed seed {found[0][0]}: {found[0][1]}"


def test_under_steady_load_batches_are_published() -> None:
    violation, _ = play(History(False, False, 0, ()), lambda world, cast: loaded(world))
    assert violation is None


def test_a_replay_that_is_killed_again_and_again_ends() -> None:
    violation, _ = play(History(False, False, 0, ()), lambda world, cast: interrupted(world))
    assert violation is None


def test_shrinking_keeps_what_a_history_violates_and_leaves_the_rest_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.simulator.choices.lands", lambda version, newest: True)
    seed = next(seed for seed in range(100) if play(history_of(seed))[0])
    violation, _ = play(history_of(seed))
    assert isinstance(violation, Violation)
    shortest = shrink(history_of(seed), violation.kind)
    assert len(shortest.operations) < len(history_of(seed).operations)
    again, _ = play(shortest)
    assert again is not None
    assert again.kind == violation.kind


@pytest.mark.long
def test_thousands_of_histories_violate_nothing_and_meet_every_refusal() -> None:
    happened: Counter[str] = Counter()
    chunks = [range(first, first + CHUNK) for first in range(0, HISTORIES, CHUNK)]
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
        for found, what in pool.map(_failures, chunks):
            assert not found, _explained(*found[0])
            happened += what
    print(dict(happened))
    rare = ["publish base", "publish chain", "publish leap", "publish removed", "publish gone", "commit refused"]
    rare += ["commit fenced", "commit gone", "lake fenced", "lake closed False", "handed over", "switch Refused"]
    rare += [
        "load fenced",
        "load closed False",
        "load closed True",
        "rollback done",
        "rollback alias",
        "rollback gone",
        "replay resumed",
        "replay published",
    ]
    assert [what for what in rare if not happened[what]] == []
