"""What every store promises about generations: built under a lease, published or refused, collected when unneeded."""

from __future__ import annotations

import pytest

from tarnbeck.store import rules
from tarnbeck.store.protocol import LeaseLost, Published, Refused
from tests.contract.stores import COUNTS, Case, cut, rows_of, table

FAR = 10**12


def _fed_and_rolled(case: Case) -> int:
    version = case.view().id
    case.feed(version, cut(4), [("EUR", 0, 0, 4)])
    case.store.roll(version)
    case.feed(version, cut(6), [("EUR", 0, 0, 2)])
    return version


def test_a_generation_takes_the_place_of_the_epochs_it_covers(case: Case) -> None:
    version = _fed_and_rolled(case)
    assert isinstance(case.built(version, cut(4), [("EUR", 0, 0, 1), ("EUR", 0, 0, 3)]), Published)
    state = case.state(version)
    assert [(epoch.start, epoch.end) for epoch in state.epochs] == [(cut(4), None)]
    assert (state.cut, rules.answerable(state)) == (cut(6), True)
    assert case.rows() == [("EUR", 0, 0, 4), ("EUR", 0, 0, 2)]


def test_an_incremental_generation_starts_with_the_rows_of_its_base(case: Case) -> None:
    version = _fed_and_rolled(case)
    case.built(version, cut(4), [("EUR", 0, 0, 4), ("USD", 0, 0, 1)])
    base = case.state(version).generation
    assert base is not None
    case.store.roll(version)
    assert isinstance(case.built(version, cut(6), [("EUR", 0, 0, 2)], base.id), Published)
    assert sorted(case.rows()) == [("EUR", 0, 0, 6), ("USD", 0, 0, 1)]


def test_a_wholly_covered_open_epoch_is_replaced_by_an_empty_one(case: Case) -> None:
    version = _fed_and_rolled(case)
    assert isinstance(case.built(version, cut(6), [("EUR", 0, 0, 6)]), Published)
    assert [(epoch.start, epoch.end) for epoch in case.state(version).epochs] == [(cut(6), None)]
    assert case.rows() == [("EUR", 0, 0, 6)]


def test_a_generation_that_leaves_a_gap_or_an_overlap_is_refused(case: Case) -> None:
    version = _fed_and_rolled(case)
    for end in (cut(3), cut(5)):
        assert case.built(version, end, []) == Refused("chain")
    assert case.rows() == [("EUR", 0, 0, 4), ("EUR", 0, 0, 2)]


def test_a_leap_moves_the_cut_unless_the_view_is_ahead(case: Case) -> None:
    version = _fed_and_rolled(case)
    assert case.built(version, cut(5, 9), [], leap=True) == Refused("leap")
    assert isinstance(case.built(version, cut(8, 9), [("EUR", 0, 0, 17)], leap=True), Published)
    assert (case.state(version).cut, case.rows()) == (cut(8, 9), [("EUR", 0, 0, 17)])


def test_a_generation_on_a_base_that_was_replaced_is_refused(case: Case) -> None:
    version = _fed_and_rolled(case)
    case.built(version, cut(4), [("EUR", 0, 0, 3)])
    base = case.state(version).generation
    assert base is not None
    slow = case.store.begin_generation(version, COUNTS, cut(4), base.id)
    assert not isinstance(slow, Refused)
    assert isinstance(case.built(version, cut(4), [("EUR", 0, 0, 4)]), Published)
    slow.seal()
    assert case.store.publish(slow, False) == Refused("base")


def test_a_base_that_no_longer_exists_refuses_the_start(case: Case) -> None:
    assert case.store.begin_generation(case.view().id, COUNTS, cut(), 99) == Refused("base")


def test_a_generation_of_a_dropped_version_is_refused(case: Case) -> None:
    version = _fed_and_rolled(case)
    building = case.store.begin_generation(version, COUNTS, cut(4), None)
    assert not isinstance(building, Refused)
    building.seal()
    case.store.drop_view("ohlc")
    assert case.store.publish(building, False) == Refused("gone")
    assert case.store.begin_generation(version, COUNTS, cut(4), None) == Refused("gone")


def test_a_generation_is_trimmed_level_by_level_with_the_rows_of_its_base(case: Case) -> None:
    version = case.view().id
    case.feed(version, cut(4), [])
    case.store.roll(version)
    case.built(version, cut(4), [(key, level, pane, 1) for key in "AB" for level in (0, 1) for pane in (-5, 0, 5)])
    case.feed(version, cut(6), [("A", 0, -5, 1)])
    case.store.roll(version)
    base = case.state(version).generation
    assert base is not None
    building = case.store.begin_generation(version, COUNTS, cut(6), base.id)
    assert not isinstance(building, Refused)
    building.write(table(COUNTS, [("A", 0, -5, 1), ("A", 0, 5, 1)]))
    building.trim(0, 5)
    building.trim(7, 5)
    building.write(table(COUNTS, [("B", 0, 0, 7)]))
    building.seal()
    assert isinstance(case.store.publish(building, False), Published)
    assert case.rows() == [("A", 0, 5, 2), ("B", 0, 0, 7), ("B", 0, 5, 1)]
    with case.store.snapshot(["ohlc"]) as snapshot:
        assert sum(1 for part in snapshot.parts("ohlc", level=1) for _ in part) == 6


def test_a_generation_that_is_not_sealed_is_refused(case: Case) -> None:
    version = _fed_and_rolled(case)
    building = case.store.begin_generation(version, COUNTS, cut(4), None)
    assert not isinstance(building, Refused)
    assert case.store.publish(building, False) == Refused("removed")
    building.abandon()


def test_the_collection_spares_a_generation_as_long_as_its_lease_is_renewed(case: Case) -> None:
    version = _fed_and_rolled(case)
    building = case.store.begin_generation(version, COUNTS, cut(4), None)
    assert not isinstance(building, Refused)
    for _ in range(5):
        case.now[0] += 100_000_000
        building.write(table(COUNTS, [("EUR", 0, 0, 1)]))
        assert case.store.collect().generations == 0
    building.seal()
    assert isinstance(case.store.publish(building, False), Published)
    assert case.rows()[0] == ("EUR", 0, 0, 5)


def test_a_generation_whose_lease_ran_out_is_removed_and_its_builder_told(case: Case) -> None:
    version = _fed_and_rolled(case)
    sealed, writing = (case.store.begin_generation(version, COUNTS, cut(4), None) for _ in range(2))
    assert not isinstance(sealed, Refused)
    assert not isinstance(writing, Refused)
    sealed.seal()
    case.now[0] += FAR
    assert case.store.collect().generations == 2
    assert case.store.publish(sealed, False) == Refused("removed")
    with pytest.raises(LeaseLost):
        writing.write(table(COUNTS, [("EUR", 0, 0, 1)]))
    with pytest.raises(LeaseLost):
        writing.seal()


def test_an_abandoned_generation_leaves_nothing(case: Case) -> None:
    building = case.store.begin_generation(_fed_and_rolled(case), COUNTS, cut(4), None)
    assert not isinstance(building, Refused)
    building.abandon()
    assert case.store.collect().generations == 0


def test_the_collection_removes_replaced_generations_and_rows_of_dropped_epochs(case: Case) -> None:
    version = _fed_and_rolled(case)
    case.built(version, cut(4), [("EUR", 0, 0, 4)])
    case.built(version, cut(6), [("EUR", 0, 0, 6)])
    collected = case.store.collect()
    assert (collected.generations, collected.rows) == (1, 2)
    assert case.rows() == [("EUR", 0, 0, 6)]
    assert case.store.collect().rows == 0


def test_the_collection_removes_dropped_versions(case: Case) -> None:
    version = _fed_and_rolled(case)
    case.built(version, cut(4), [("EUR", 0, 0, 4)])
    case.store.drop_view("ohlc")
    collected = case.store.collect()
    assert (collected.generations, collected.rows, collected.versions) == (1, 2, 1)
    assert case.store.collect().versions == 0


def test_an_open_snapshot_reads_on_while_all_it_sees_is_replaced_and_collected(case: Case) -> None:
    version = _fed_and_rolled(case)
    case.built(version, cut(4), [("EUR", 0, 0, 4)])
    other = case.again()
    with other.snapshot() as snapshot:
        case.built(version, cut(6), [("EUR", 0, 0, 6)])
        case.store.collect()
        case.store.drop_view("ohlc")
        case.store.collect()
        assert rows_of(snapshot) == [("EUR", 0, 0, 4), ("EUR", 0, 0, 2)]
        assert snapshot.versions["ohlc"].cut == cut(6)
    with other.snapshot() as snapshot:
        assert not snapshot.versions
    other.close()


def test_the_newest_pane_of_each_part_is_known(case: Case) -> None:
    version = case.view().id
    with case.store.snapshot() as snapshot:
        assert snapshot.newest("ohlc", None) is None
        assert snapshot.newest("ohlc", snapshot.versions["ohlc"].epochs[0].id) is None
    case.feed(version, cut(4), [("EUR", 0, 60, 1), ("EUR", 0, 240, 1), ("USD", 0, 120, 1), ("USD", 1, 900, 1)])
    case.store.roll(version)
    case.feed(version, cut(6), [("EUR", 0, -60, 1), ("", 0, 180, 1)])
    case.built(version, cut(4), [("EUR", 0, 60, 1), ("EUR", 0, 240, 1), ("USD", 0, 300, 1)])
    with case.store.snapshot() as snapshot:
        (epoch,) = snapshot.versions["ohlc"].epochs
        assert snapshot.newest("ohlc", None) == 300
        assert snapshot.newest("ohlc", epoch.id) == 180
