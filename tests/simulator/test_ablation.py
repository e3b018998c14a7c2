"""Every rule of the protocol is needed: with its naive reading in its place, the simulator finds a violation."""

from __future__ import annotations

import inspect
from types import ModuleType

import pytest

from tarnbeck.store import rules
from tests.simulator import choices
from tests.simulator.ablations import NAIVE, STARVING, without
from tests.simulator.history import History, crowded, history_of, play, replayed
from tests.simulator.settling import interrupted, loaded

MOST = 3_000
FROM = {"ids": 3, "undisturbed": 500}
"""Where a rare violation is known to be near."""
SPECIAL = {"base_cas": crowded, "leap_tx": crowded, "goes_on": replayed}
"""Histories for rules about batches that overlap, and about replays that are resumed."""
ANY_IS_SOUND = {"start_of"}
PARTS_OF_OTHERS = {"open_epoch", "chained"}


@pytest.mark.long
@pytest.mark.parametrize("rule", NAIVE)
def test_without_the_rule_a_history_goes_wrong(rule: str) -> None:
    make = SPECIAL.get(rule, history_of)
    first = FROM.get(rule, 0)
    for seed in range(first, first + MOST):
        with without(NAIVE[rule]()):
            violation, _ = play(make(seed))
        if violation is not None:
            print(f"{rule}: seed {seed}: {violation}")
            return
    pytest.fail(f"{rule}: no violation in {MOST} histories")


@pytest.mark.parametrize("rule", STARVING)
def test_without_the_rule_no_batch_or_replay_gets_through(rule: str) -> None:
    trial = interrupted if rule == "unfinished" else loaded
    with without(STARVING[rule]()):
        violation, _ = play(History(False, False, 0, ()), lambda world, cast: trial(world))
    assert violation is not None
    assert violation.kind == "starved"


@pytest.mark.parametrize("module", [rules, choices], ids=["store", "layers"])
def test_every_rule_is_left_out_by_some_ablation(module: ModuleType) -> None:
    left_out = {name for make in (*NAIVE.values(), *STARVING.values()) for owner, name in make() if owner is module}
    functions = {
        name for name, found in inspect.getmembers(module, inspect.isfunction) if found.__module__ == module.__name__
    }
    assert functions - left_out == (ANY_IS_SOUND | PARTS_OF_OTHERS if module is rules else set())
