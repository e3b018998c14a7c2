"""What every store promises about streams, versions, commits and the lake."""

from __future__ import annotations

import pytest

from tarnbeck.cut import Cut
from tarnbeck.errors import StoreError
from tarnbeck.store import rules
from tarnbeck.store.protocol import HISTORY, LAKE, SPEED, Contribution, Fenced
from tarnbeck.store.state import Feeder, HistoryFile
from tests.contract.stores import COUNTS, STREAM, Case, cut, layout_of, table


def test_a_stream_keeps_its_first_origin(case: Case) -> None:
    again = case.store.register_stream(STREAM, '{"new": 1}', "prices", cut(7), cut(9))
    assert (again.origin, again.lake_cut, again.definition) == (cut(), cut(), '{"new": 1}')


def test_a_topic_that_was_made_anew_is_refused(case: Case) -> None:
    with pytest.raises(StoreError, match="the topic is another one now"):
        case.store.register_stream(STREAM, "{}", "prices", Cut("other"), Cut("other"))


def test_a_log_that_ends_below_a_stored_cut_is_refused(case: Case) -> None:
    case.feed(case.view().id, cut(5), [("EUR", 0, 0, 1)])
    with pytest.raises(StoreError, match="below what was already counted"):
        case.store.register_stream(STREAM, "{}", "prices", cut(), cut(4))


def test_the_first_version_of_a_view_becomes_its_alias_and_answers_from_the_origin(case: Case) -> None:
    first, second = case.view(), case.view()
    assert case.store.aliases() == {"ohlc": first.id}
    assert rules.answerable(first)
    assert second.id != first.id


def test_a_new_version_starts_at_the_lowest_fed_cut_and_is_building(case: Case) -> None:
    ahead, behind = case.view("a"), case.view("b")
    case.feed(ahead.id, cut(5, 2), [])
    case.feed(behind.id, cut(3, 4), [])
    new = case.view("c")
    assert new.cut == cut(3, 2)
    assert not rules.answerable(new)


def test_a_replayed_version_starts_at_the_origin_and_is_not_fed(case: Case) -> None:
    case.feed(case.view("a").id, cut(5), [])
    replayed = case.view("b", feeder=Feeder.REPLAY)
    assert replayed.cut == cut()
    assert [version.view for version in case.store.fed(STREAM)] == ["a"]


def test_a_replayed_version_is_handed_over_once_it_is_not_behind(case: Case) -> None:
    case.feed(case.view("a").id, cut(5), [])
    replayed = case.view("b", feeder=Feeder.REPLAY)
    assert not case.store.hand_over(replayed.id)
    case.feed(replayed.id, cut(5), [])
    assert case.store.hand_over(replayed.id)
    assert case.state(replayed.id).feeder is Feeder.LIVE
    case.store.hand_back(replayed.id)
    assert case.state(replayed.id).feeder is Feeder.REPLAY


def test_ids_are_never_used_again(case: Case) -> None:
    first = case.view()
    case.store.drop_view("ohlc")
    case.store.collect()
    second = case.view()
    assert second.id > first.id
    assert second.epochs[0].id > first.epochs[0].id


def test_commits_merge_states_and_advance_the_cut(case: Case) -> None:
    version = case.view().id
    case.feed(version, cut(2), [("EUR", 0, 0, 1), ("USD", 0, 0, 4), ("EUR", 0, 0, 1)])
    case.feed(version, cut(2, 3), [("EUR", 0, 0, 5)])
    assert sorted(case.rows()) == [("EUR", 0, 0, 7), ("USD", 0, 0, 4)]
    assert case.state(version).cut == cut(2, 3)


def test_a_commit_never_lowers_a_cut_in_any_partition(case: Case) -> None:
    version = case.view().id
    case.feed(version, cut(5, 1), [])
    case.feed(version, cut(2, 3), [])
    assert case.state(version).cut == cut(5, 3)


def test_of_two_writers_at_the_same_cut_one_is_refused(case: Case) -> None:
    version = case.view().id
    share = case.share(version, cut(), cut(1), [("EUR", 0, 0, 1)])
    assert case.store.commit(None, [share]).done == (version,)
    assert case.again().commit(None, [share]).refused == (version,)
    assert case.rows() == [("EUR", 0, 0, 1)]


def test_views_that_moved_or_vanished_are_skipped_and_the_others_commit(case: Case) -> None:
    stands, moves, goes = (case.view(name) for name in "abc")
    shares = [case.share(v.id, cut(), cut(1), [("EUR", 0, 0, 1)]) for v in (stands, moves, goes)]
    case.feed(moves.id, cut(3), [])
    case.store.drop_view("c")
    committed = case.store.commit(None, shares)
    assert (committed.done, committed.refused, committed.gone) == ((stands.id,), (moves.id,), (goes.id,))


def test_a_partial_of_another_layout_is_refused(case: Case) -> None:
    wrong, version = layout_of((), ()), case.view().id
    with pytest.raises(StoreError, match="does not have the columns"):
        case.store.commit(None, [Contribution(version, cut(), cut(1), COUNTS, table(wrong, []))])
    with pytest.raises(StoreError, match="is laid out differently"):
        case.store.commit(None, [case.share(version, cut(), cut(1), [], wrong)])
    with pytest.raises(StoreError, match="is laid out differently"):
        case.store.begin_generation(version, wrong, cut(), None)


def test_rows_without_a_span_are_refused(case: Case) -> None:
    version = case.view().id
    with pytest.raises(StoreError, match="no events between"):
        case.store.commit(None, [case.share(version, cut(), cut(), [("EUR", 0, 0, 1)])])


def test_writers_that_alternate_merge_into_what_the_other_wrote(case: Case) -> None:
    version, stores = case.view().id, [case.store, case.again()]
    for i in range(9):
        if i == 5:
            stores[0].roll(version)
        rows = [(f"key{i % 2}", 0, 0, 1), ("all", 0, 0, 1)]
        assert stores[i // 2 % 2].commit(None, [case.share(version, cut(i), cut(i + 1), rows)]).done
    closed, opened = [("all", 5), ("key0", 3), ("key1", 2)], [("all", 4), ("key0", 2), ("key1", 2)]
    assert [(row[0], row[-1]) for row in case.rows()] == closed + opened
    stores[1].close()


def test_a_writer_that_was_taken_over_is_fenced_and_changes_nothing(case: Case) -> None:
    version = case.view().id
    old = case.store.take_token(SPEED)
    new = case.again().take_token(SPEED)
    with pytest.raises(Fenced):
        case.store.commit(old, [case.share(version, cut(), cut(1), [("EUR", 0, 0, 1)])])
    with pytest.raises(Fenced):
        case.store.check_token(SPEED, old)
    case.store.check_token(SPEED, new)
    assert case.state(version).cut == cut()


def test_rolling_closes_the_open_epoch_and_an_empty_one_stays(case: Case) -> None:
    version = case.view().id
    assert case.store.roll(version) == cut()
    assert len(case.state(version).epochs) == 1
    case.feed(version, cut(4), [("EUR", 0, 0, 1)])
    assert case.store.roll(version) == cut(4)
    assert [(epoch.start, epoch.end) for epoch in case.state(version).epochs] == [(cut(), cut(4)), (cut(4), None)]
    assert case.store.roll(999) is None


def test_the_lake_advances_by_intents_one_at_a_time(case: Case) -> None:
    token = case.store.take_token(LAKE)
    intent = case.store.open_intent(token, STREAM, cut(), cut(5))
    assert intent is not None
    assert case.store.open_intent(token, STREAM, cut(), cut(9)) is None
    assert case.store.streams()[STREAM].intent == intent
    assert case.store.lake_cut(STREAM) == cut()
    assert case.store.close_intent(intent)
    assert not case.store.close_intent(intent)
    assert case.store.lake_cut(STREAM) == cut(5)
    assert case.store.open_intent(token, STREAM, cut(), cut(9)) is None
    following = case.store.open_intent(token, STREAM, cut(5), cut(9))
    assert following is not None
    assert following.id > intent.id


def test_a_successor_sees_the_open_intent_and_the_old_lake_writer_opens_none(case: Case) -> None:
    old = case.store.take_token(LAKE)
    intent = case.store.open_intent(old, STREAM, cut(), cut(5))
    successor = case.again()
    successor.take_token(LAKE)
    assert successor.streams()[STREAM].intent == intent
    assert intent is not None
    assert successor.close_intent(intent)
    with pytest.raises(Fenced):
        case.store.open_intent(old, STREAM, cut(5), cut(6))


def test_an_accepted_hole_is_recorded_and_the_lake_goes_on_behind_it(case: Case) -> None:
    case.now[0] = 77
    assert case.store.accept_hole(STREAM, cut(8), "retention was too short") == cut(8)
    (hole,) = case.store.streams()[STREAM].holes
    assert (hole.start, hole.end, hole.reason, hole.accepted) == (cut(), cut(8), "retention was too short", 77)


def test_a_hole_waits_until_an_open_intent_is_barred(case: Case) -> None:
    intent = case.store.open_intent(case.store.take_token(LAKE), STREAM, cut(), cut(5))
    assert intent is not None
    with pytest.raises(StoreError, match="still open"):
        case.store.accept_hole(STREAM, cut(8), "lost")
    case.store.accept_hole(STREAM, cut(8), "lost", barred=intent.id)
    assert case.store.streams()[STREAM].intent is None
    assert not case.store.close_intent(intent)


def test_the_lake_of_another_app_is_followed_and_never_goes_back(case: Case) -> None:
    for at in (cut(5), cut(4, 2)):
        case.store.follow_lake(STREAM, at)
    assert case.again().lake_cut(STREAM) == cut(5, 2)


def test_small_facts_are_kept_by_name(case: Case) -> None:
    assert case.store.meta("address") is None
    case.store.set_meta("address", "one")
    case.store.set_meta("address", "two")
    assert case.again().meta("address") == "two"


def test_an_unknown_stream_or_version_is_named(case: Case) -> None:
    with pytest.raises(StoreError, match="did you mean 'prices'"):
        case.store.lake_cut("price")
    with pytest.raises(StoreError, match="there is no version 9"):
        case.store.drop_version(9)


def test_files_and_the_log_come_into_the_lake_beside_each_other(case: Case) -> None:
    store = case.store
    mirror, loader = store.take_token(LAKE), store.take_token(HISTORY)
    log = store.open_intent(mirror, STREAM, cut(), cut(5))
    files = store.open_intent(loader, STREAM, cut(), cut().with_history(100))
    assert log is not None
    assert files is not None
    assert (store.streams()[STREAM].intent, store.streams()[STREAM].loading) == (log, files)
    assert store.open_intent(loader, STREAM, cut(), cut().with_history(200)) is None
    assert store.close_intent(files)
    assert not store.close_intent(files)
    assert store.lake_cut(STREAM) == cut().with_history(100)
    assert store.close_intent(log)
    assert store.lake_cut(STREAM) == cut(5).with_history(100)
    # Each compares its own part of the lake's cut only.
    assert store.open_intent(mirror, STREAM, cut(5), cut(7)) is not None
    assert store.open_intent(loader, STREAM, cut().with_history(99), cut().with_history(200)) is None
    assert store.open_intent(loader, STREAM, cut().with_history(100), cut().with_history(200)) is not None
    store.take_token(HISTORY)
    with pytest.raises(Fenced):
        store.open_intent(loader, STREAM, cut(), cut().with_history(300))
    # A log that begins anew is told by what is in the log alone.
    store.register_stream(STREAM, "{}", "prices", cut(), cut(7))


def test_each_file_of_a_history_has_its_place_behind_the_others(case: Case) -> None:
    store, token = case.store, case.store.take_token(HISTORY)
    first = HistoryFile("a.csv", 10, 1, "x", 0, 100)
    empty = HistoryFile("b.csv", 0, 1, "y", 100, 0)
    last = HistoryFile("A.csv", 10, 1, "z", 100, 50)
    assert store.add_history(token, STREAM, first)
    assert not store.add_history(token, STREAM, HistoryFile("c.csv", 10, 1, "w", 0, 100))
    assert store.add_history(token, STREAM, empty)
    assert store.add_history(token, STREAM, last)
    assert [file.end for file in store.history(STREAM)] == [100, 150, 100]
    assert store.history("other") == ()
    store.take_token(HISTORY)
    with pytest.raises(Fenced):
        store.add_history(token, STREAM, last)
