"""Each rule's naive reading: what someone would write who had read the design in a hurry."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from tarnbeck.cut import Cut
from tarnbeck.store import rules
from tarnbeck.store.state import Epoch, Feeder, VersionState
from tests.simulator import choices
from tests.simulator.log import TOPIC, Event

Naive = Mapping[tuple[Any, str], Callable[..., Any]]
"""Which functions to replace, as owner and name, and by what."""


def _remembered_epoch() -> Callable[[VersionState], Epoch | None]:
    memory: dict[int, Epoch | None] = {}

    def naive(version: VersionState) -> Epoch | None:
        """The epoch that was open when the writer first fed this version."""
        if len(memory) > 64:
            memory.clear()
        return memory.setdefault(version.id, rules.open_epoch(version))

    return naive


def _a_new_number() -> Callable[[int], int]:
    numbers = itertools.count(1)
    return lambda version: next(numbers)


def _all_or_none(fits: Sequence[bool]) -> Sequence[bool]:
    return [all(fits)] * len(fits)


def _covered_dropped(version: VersionState, cut: Cut) -> Sequence[Epoch]:
    """Every epoch that is covered goes, the open one too."""
    return [epoch for epoch in version.epochs if not cut.covers(epoch.end or version.cut)]


def _only_the_live(version: VersionState, answers: bool) -> bool:
    return version.feeder is Feeder.LIVE and (answers or not rules.answerable(version))


def _seen(start: Cut, planned: Cut, rows: Sequence[Event]) -> Cut:
    del planned
    ends: dict[int, int] = {}
    for partition, offset in rows:
        ends[partition] = max(ends.get(partition, 0), offset + 1)
    return start.advance(Cut.of(TOPIC, ends))


def _raw_of(topic: str, offsets: Mapping[int, int]) -> Cut:
    """A cut that keeps its zeros: partitions at 0 and partitions not named are no longer the same."""
    return Cut(topic, tuple(sorted(offsets.items())))


def _raw_covers(self: Cut, other: Cut) -> bool:
    mine = dict(self.offsets)
    return all(partition in mine and mine[partition] >= offset for partition, offset in other.offsets)


def _always(*_: object) -> bool:
    return True


def _never(*_: object) -> bool:
    return False


def _unchanged(position: choices.Position) -> choices.Position:
    return position


def _goes_on(position: choices.Position) -> choices.Position:
    """A refused batch counts as done."""
    return position[1], None


NAIVE: dict[str, Callable[[], Naive]] = {
    "cas": lambda: {(rules, "moved"): _never},
    "view_cas": lambda: {
        (rules, "fitting"): _all_or_none,
        (choices, "start_for"): lambda view, position: position,
    },
    "cut_max": lambda: {(rules, "advanced"): lambda old, planned: planned},
    "open_at_commit": lambda: {(rules, "epoch_to_write"): _remembered_epoch()},
    "fence": lambda: {(rules, "fenced"): _never},
    "fence_exit": lambda: {(choices, "fenced_restarts"): _always},
    "lift": lambda: {(rules, "lifted"): lambda version, cut: version},
    "landed": lambda: {(rules, "landed"): lambda lake, end: end},
    "load_numbers": lambda: {(choices, "numbered_by"): lambda writer: "all"},
    "take_history": lambda: {(choices, "with_history"): lambda cut, lake: cut},
    "keep_open": lambda: {(rules, "kept"): _covered_dropped},
    "roll_empty": lambda: {(rules, "must_roll"): _always},
    "chain": lambda: {(rules, "publishable"): _always},
    "read_chain": lambda: {(rules, "answerable"): _always},
    "leap_tx": lambda: {(rules, "may_leap"): _always},
    "leap": lambda: {(choices, "may_leap"): _never},
    "base_cas": lambda: {(rules, "base_stands"): _always},
    "gc_state": lambda: {(rules, "still_sealed"): _always},
    "snapshot": lambda: {(choices, "in_one_snapshot"): _never},
    "ids": lambda: {(rules, "fresh_id"): lambda highest_ever, highest_present: highest_present + 1},
    "origin_once": lambda: {(rules, "origin_of"): lambda recorded, offered: offered},
    "switch_check": lambda: {(rules, "may_switch"): _always},
    "undisturbed": lambda: {(rules, "undisturbed"): _always},
    "drop_live": lambda: {(rules, "may_drop"): _always},
    "goes_on": lambda: {(rules, "goes_on"): lambda saved: Cut(TOPIC)},
    "group": lambda: {(choices, "in_one_switch"): _never},
    "feed_all": lambda: {(rules, "is_fed"): _only_the_live},
    "hand_over": lambda: {(rules, "may_hand_over"): _always},
    "fresh": lambda: {
        (choices, "restarted"): _unchanged,
        (choices, "after_refusal"): _unchanged,
        (choices, "must_rewind"): _never,
    },
    "rewind": lambda: {(choices, "must_rewind"): _never, (choices, "after_refusal"): _goes_on},
    "gap": lambda: {(choices, "gap"): _never},
    "lake_cas": lambda: {(rules, "may_open"): _always, (choices, "resumed"): lambda intent: None},
    "lake_redo": lambda: {(choices, "resumed"): lambda intent: None},
    "lake_once": lambda: {(choices, "lands"): _always},
    "lake_lookup": lambda: {(choices, "newest_version"): lambda versions: (versions[-1] or 0) if versions else 0},
    "lake_empty": lambda: {(choices, "worth_committing"): bool},
    "quarantine": lambda: {(choices, "quarantined_once"): _a_new_number()},
    "planned": lambda: {(choices, "lake_end"): _seen},
    "lso": lambda: {(choices, "readable_end"): len},
    "canon": lambda: {(Cut, "of"): _raw_of, (Cut, "covers"): _raw_covers},
    "origin": lambda: {(choices, "origin"): lambda log: Cut(TOPIC)},
    "kappa_origin": lambda: {(choices, "feeder"): lambda replayed: Feeder.LIVE},
    "kappa_lake": lambda: {(choices, "replays_from_lake"): _never},
}
"""By the rule's name: its naive reading, made anew for each use because some remember things."""

STARVING: dict[str, Callable[[], Naive]] = {
    "leap_fallback": lambda: {(choices, "falls_back"): _never},
    "lease": lambda: {(rules, "lease_over"): _always},
    "unfinished": lambda: {(rules, "unfinished"): _never},
}
"""Rules without which nothing wrong is answered, but no batch gets through steady load, or no replay many crashes."""


@contextmanager
def without(naive: Naive) -> Iterator[None]:
    """Put the naive readings in place of the rules."""
    with ExitStack() as stack:
        for (owner, name), function in naive.items():
            stack.enter_context(patch.object(owner, name, function))
        yield
