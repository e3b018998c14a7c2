"""Processes of one machine take turns to write to the lake of a stream."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from tarnbeck.lake.turn import turn


def taken(folder: Path) -> bool:
    with (folder / ".turn").open("ab") as other:
        try:
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def test_a_turn_is_held_by_one_at_a_time_and_ends_whatever_happens(tmp_path: Path) -> None:
    folder = tmp_path / "events"
    with turn(str(folder)):
        assert taken(folder)
    assert not taken(folder)
    with pytest.raises(ZeroDivisionError), turn(str(folder)):
        raise ZeroDivisionError
    assert not taken(folder)


def test_a_place_with_an_address_has_its_own_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with turn("s3a://lake/events"):
        assert not list(tmp_path.iterdir())
