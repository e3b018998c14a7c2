"""The protocol's rules, each on the smallest example that shows it."""

from __future__ import annotations

from dataclasses import replace

from tarnbeck.cut import Cut
from tarnbeck.store import rules
from tarnbeck.store.state import Epoch, Feeder, Generation, Intent, Stage, VersionState


def cut(*offsets: int) -> Cut:
    return Cut.of("t", dict(enumerate(offsets)))


CLOSED, OPEN = Epoch(1, cut(2), cut(4)), Epoch(2, cut(4), None)
VERSION = VersionState(
    1, "v", "s", "{}", "h", (), (), Feeder.LIVE, cut(), cut(6), Generation(1, cut(2)), (CLOSED, OPEN)
)


def test_a_chain_goes_from_the_generation_over_each_epoch_to_the_cut() -> None:
    assert rules.answerable(VERSION)
    assert not rules.answerable(replace(VERSION, generation=None))
    assert not rules.answerable(replace(VERSION, epochs=(OPEN,)))
    assert not rules.answerable(replace(VERSION, epochs=(CLOSED,), cut=cut(4)))
    assert not rules.answerable(replace(VERSION, epochs=()))


def test_without_a_generation_the_chain_begins_at_the_origin() -> None:
    assert rules.answerable(replace(VERSION, generation=None, origin=cut(2)))


def test_a_generation_inside_the_chain_keeps_what_follows_and_the_open_epoch() -> None:
    assert rules.kept(VERSION, cut(4)) == [OPEN]
    assert rules.kept(VERSION, cut(3)) == [CLOSED, OPEN]
    assert rules.kept(VERSION, cut(5)) == [OPEN]
    assert not rules.publishable(VERSION, cut(5), [OPEN])


def test_a_generation_at_or_above_the_cut_replaces_all_epochs() -> None:
    assert rules.kept(VERSION, cut(6)) is None
    assert rules.kept(VERSION, cut(7, 1)) is None


def test_history_lifts_a_version_and_leaves_its_epochs_where_they_are_in_the_log() -> None:
    taken = rules.lifted(VERSION, cut(4).with_history(9))
    assert taken.cut == cut(6).with_history(9)
    kept = rules.kept(taken, cut(4).with_history(9))
    assert kept == [Epoch(2, cut(4).with_history(9), None)]
    assert rules.publishable(taken, cut(4).with_history(9), kept)
    # One that has less of it than the version does not fit any more.
    less = cut(4).with_history(5)
    again = rules.lifted(taken, less)
    assert again == taken
    assert not rules.publishable(again, less, rules.kept(again, less) or ())
    assert rules.lifted(VERSION, cut(5)) == VERSION


def test_a_new_version_starts_at_the_lowest_fed_cut_or_the_origin() -> None:
    assert rules.start_of(cut(1), [cut(5, 2), cut(3, 4)], Feeder.LIVE) == cut(3, 2)
    assert rules.start_of(cut(1), [], Feeder.LIVE) == cut(1)
    assert rules.start_of(cut(1), [cut(5)], Feeder.REPLAY) == cut(1)


def test_a_leap_is_allowed_only_up_to_or_past_the_view() -> None:
    assert rules.may_leap(VERSION, cut(6, 1))
    assert not rules.may_leap(VERSION, cut(5, 9))


def test_a_lake_intent_opens_only_at_the_lakes_cut_with_none_open() -> None:
    open_intent = Intent(1, "s", 1, cut(), cut(1))
    assert rules.may_open(cut(1), cut(1), None)
    assert not rules.may_open(cut(1), cut(1), open_intent)
    assert not rules.may_open(cut(2), cut(1), None)


def test_only_a_sealed_generation_can_be_published() -> None:
    assert [rules.still_sealed(stage) for stage in (*Stage, None)] == [False, False, True, False, False]


def test_ids_go_on_from_the_highest_ever() -> None:
    assert rules.fresh_id(7, 3) == 8
    assert rules.fresh_id(0, 3) == 4
