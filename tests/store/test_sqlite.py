"""What only the SQLite store does: its format, its files, and how it stands against time and other connections."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tarnbeck.errors import StoreError
from tarnbeck.store import connection, garbage, recent, rows
from tarnbeck.store.sqlite import SQLiteStore
from tests.contract.stores import COUNTS, Case, cut, rows_of

ALERTS = ("deliveries", "delivery_totals", "notices", "alert_states", "alert_rules")


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Case]:
    made = Case(SQLiteStore, tmp_path)
    yield made
    made.store.close()


def aged(case: Case) -> None:
    """Makes the store one of the first format."""
    case.store.close()
    with sqlite3.connect(case.folder / "catalog.db") as con:
        for table in ("switches", "loads", "history", *ALERTS):
            con.execute(f"DROP TABLE {table}")
        con.execute("ALTER TABLE epochs DROP COLUMN newest")
        con.execute("UPDATE meta SET value = '1' WHERE key = 'format'")
    con.close()


def test_a_store_of_an_older_format_is_brought_forward(case: Case) -> None:
    case.view()
    aged(case)
    found = case.again()
    assert (list(found.aliases()), list(found.switches())) == (["ohlc"], [])
    assert found.meta("format") == "4"


def test_a_store_of_a_newer_format_is_refused(case: Case) -> None:
    case.store.set_meta("format", "99")
    case.store.close()
    with pytest.raises(StoreError, match="its format is 99, this tarnbeck knows 4"):
        case.again()


def test_a_store_without_notes_of_newest_panes_gets_them_as_it_goes_on(case: Case) -> None:
    version = case.view().id
    case.feed(version, cut(1), [("EUR", 0, 60, 1), ("USD", 0, 120, 1)])
    aged(case)
    case.store = case.again()
    (epoch,) = case.state(version).epochs
    found = []
    for end, pane in ((2, 90), (3, 180), (4, 150)):
        with case.store.snapshot() as snapshot:
            found.append(snapshot.newest("ohlc", epoch.id))
        case.feed(version, cut(end), [("EUR", 0, pane, 1)])
    assert found == [120, 120, 180]


def test_a_store_that_was_closed_says_so(case: Case) -> None:
    case.store.close()
    with pytest.raises(StoreError, match="closed"):
        case.store.versions()


def test_a_reader_keeps_at_most_the_generations_that_are_named(case: Case) -> None:
    version = case.view().id
    for i in range(1, 5):
        case.feed(version, cut(i), [("EUR", 0, 0, 1)])
        case.built(version, cut(i), [("EUR", 0, 0, i)])
        assert case.rows() == [("EUR", 0, 0, i)]
    case.store.collect()
    assert len(list((case.folder / "generations").iterdir())) == 1


def test_files_that_a_killed_builder_left_are_collected(case: Case) -> None:
    left = case.folder / "generations" / "77.db"
    left.touch()
    assert case.store.collect().generations == 1
    assert not left.exists()


def test_a_missing_generation_file_is_an_error_that_says_what_to_do(case: Case) -> None:
    version = case.view().id
    case.built(version, cut(), [])
    for path in (case.folder / "generations").iterdir():
        path.unlink()
    with pytest.raises(StoreError, match="tarnbeck batch --full"), case.store.snapshot():
        pass


def test_the_collection_works_in_small_steps(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage, "STEP", 10)
    version = case.view().id
    case.feed(version, cut(1), [(f"key{i}", 0, 0, 1) for i in range(35)])
    case.built(version, cut(1), [])
    case.feed(version, cut(2), [("EUR", 0, 0, 1)])
    assert case.store.collect().rows == 35
    assert case.rows() == [("EUR", 0, 0, 1)]


def test_an_unfinished_read_does_not_hold_the_next_snapshot_in_the_past(case: Case) -> None:
    version = case.view().id
    case.feed(version, cut(1), [(f"key{i}", 0, 0, 1) for i in range(3000)])
    with case.store.snapshot() as snapshot:
        next(snapshot.parts("ohlc")[0])
    case.feed(version, cut(2), [("new", 0, 0, 1)])
    with case.store.snapshot() as snapshot:
        assert len(rows_of(snapshot)) == 3001


def test_a_failed_transaction_changes_nothing_and_the_store_goes_on(case: Case) -> None:
    first, second = case.view("a").id, case.view("b").id
    shares = [case.share(version, cut(), cut(1), [("EUR", 0, 0, 1)]) for version in (first, second)]

    def failing(con: sqlite3.Connection, *_: object) -> None:
        raise RuntimeError("out of luck")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(rows, "merge_into", failing)
        with pytest.raises(RuntimeError, match="out of luck"):
            case.store.commit(None, shares)
    assert case.state(first).cut == cut()
    assert len(case.store.commit(None, shares).done) == 2


def test_states_are_read_back_when_too_many_are_remembered(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "MOST", 2)
    version = case.view().id
    for i in range(4):
        case.feed(version, cut(i + 1), [(f"key{k}", 0, 0, 1) for k in range(i + 1)])
    assert [row[-1] for row in sorted(case.rows())] == [4, 3, 2, 1]


def test_a_failed_commit_is_forgotten(case: Case) -> None:
    version = case.view().id
    case.feed(version, cut(1), [("EUR", 0, 0, 1)])
    with pytest.raises(StoreError, match="no events between"):
        case.store.commit(None, [case.share(version, cut(1), cut(n), [("EUR", 0, 0, 5)]) for n in (2, 1)])
    case.feed(version, cut(2), [("EUR", 0, 0, 1)])
    assert case.rows() == [("EUR", 0, 0, 2)]


def test_a_writer_that_hangs_is_reported_not_waited_for_for_ever(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BUSY_MS", 1)
    impatient = case.again()
    other = sqlite3.connect(case.folder / "catalog.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="kept the store locked"):
        impatient.take_token("speed")
    other.execute("ROLLBACK")
    other.close()
    assert impatient.take_token("speed") == 1
    impatient.close()


def test_only_speed_commits_do_without_a_sync_to_disk(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = list[bool]()
    whole = connection.Writer.transaction

    def noted(self: connection.Writer, synced: bool = True) -> object:
        seen.append(synced)
        return whole(self, synced)

    monkeypatch.setattr(connection.Writer, "transaction", noted)
    version = case.view().id
    case.feed(version, cut(1), [])
    case.store.roll(version)
    building = case.store.begin_generation(version, COUNTS, cut(1), None)
    building.seal()  # type: ignore[union-attr]
    case.store.publish(building, False)  # type: ignore[arg-type]
    assert seen == [True, False, True, True, True, True]
