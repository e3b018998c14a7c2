"""An application's state out of its events: a game of chess, played again from the log and from the lake."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chess
import pytest

import tarnbeck as tb
from tarnbeck.errors import UsageError
from tarnbeck.lake.history import load
from tarnbeck.log.broker import Broker
from tarnbeck.replay.fold import Folded, Place, fold
from tests.e2e.rig import Rig
from tests.e2e.test_hole import delete_below

GAME = ["e4", "e5", "Nf3", "Nc6", "Bc4", "Bc5", "d3", "Nf6", "Nbd2"]
BOARD = "r1bqk2r/pppp1ppp/2n2n2/2b1p3/2B1P3/3P1N2/PPPN1PPP/R1BQK2R b KQkq - 2 5"


def club(name: str, partitions: int = 2, history: tuple[str, ...] = ()) -> tb.App:
    app = tb.App(name)
    schema = "time timestamp, game string, san string"
    app.stream("moves", schema, time="time", key="game", topic=name, partitions=partitions, history=history)
    return app


def moves(game: str, played: list[str]) -> list[dict[str, Any]]:
    return [{"time": f"2026-03-01T10:{minute:02d}:00Z", "game": game, "san": san} for minute, san in enumerate(played)]


def played(board: chess.Board, move: dict[str, Any]) -> chess.Board:
    board.push_san(move["san"])
    return board


def folded(rig: Rig, **options: Any) -> Folded:
    known = rig.store.streams()["moves"]
    return fold(Place(rig.log, rig.root, rig.folder), known, played, chess.Board(), options.get("by"))


def send(rig: Rig, game: str, san: list[str]) -> None:
    rig.send_events("moves", moves(game, san))


@pytest.mark.broker
def test_the_moves_give_the_board(broker: Broker, tmp_path: Path, unique: Callable[[str], str]) -> None:
    rig = Rig(club(unique("chess")[:40].replace("-", "_")), broker.settings, None, tmp_path)
    rig.register()
    nothing = folded(rig, by="game")
    assert (nothing.state, nothing.events) == ({}, 0)
    send(rig, "spanish", ["e4", "e5", "Nf3", "Nc6", "Bb5"])
    send(rig, "italian", GAME)
    found = folded(rig, by="game")
    assert found.state["italian"].fen() == BOARD
    assert found.state["spanish"].fen().startswith("r1bqkbnr/pppp1ppp/2n5/1B2p3/4P3/5N2")
    assert found.events == 14
    assert found.cut == rig.ends()["moves"]
    with pytest.raises(UsageError, match="its partitions have no order among them"):
        folded(rig)
    with pytest.raises(UsageError, match="unknown column 'player'"):
        folded(rig, by="player")


@pytest.mark.broker
@pytest.mark.spark
def test_what_came_from_files_and_what_the_log_no_longer_holds_comes_from_the_lake(
    broker: Broker, spark: Any, tmp_path: Path, unique: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "old.jsonl"
    old.write_text("\n".join(map(json.dumps, moves("italian", GAME[:2]))))
    app = club(unique("chess")[:40].replace("-", "_"), partitions=1, history=(str(old),))
    rig = Rig(app, broker.settings, spark, tmp_path)
    rig.register()
    send(rig, "italian", GAME[2:6])
    rig.mirror()
    load(spark, rig.store, rig.root, "moves", tmp_path, told=lambda _: None, stop=threading.Event())
    delete_below(broker, rig.app.streams["moves"].topic, 2)
    send(rig, "italian", GAME[6:])
    # The session of the tests is still needed by others.
    monkeypatch.setattr("tarnbeck.spark.session.session", lambda *_, **__: spark)
    monkeypatch.setattr(type(spark), "stop", lambda _: None)
    found = folded(rig)
    assert (found.state.fen(), found.events) == (BOARD, len(GAME))
    assert str(found.cut) == "history:2 0:7"


def test_a_url_is_told_where_folds_are_made() -> None:
    with (
        tb.connect("http://localhost:1") as client,
        pytest.raises(UsageError, match="connect to the application's fold"),
    ):
        client.fold("moves", played, chess.Board())
