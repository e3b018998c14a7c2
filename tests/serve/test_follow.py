"""Clients of a folder and of a server are told the same updates, and know the whole answer after each."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Iterator
from typing import Any

import pytest

from tarnbeck.errors import LogError, UsageError
from tarnbeck.serve.answer import Question, answer
from tarnbeck.serve.client import Client, connect
from tests.serve.market import Shop
from tests.serve.sample import BEGIN, cut_after


@pytest.fixture(params=["folder", "url"])
def client(request: pytest.FixtureRequest, market: Shop) -> Iterator[Client]:
    with connect(market.folder if request.param == "folder" else market.server.url) as opened:
        yield opened


def test_a_client_is_told_and_knows_the_whole_answer(market: Shop, client: Client) -> None:
    market.orders([("pear", 0, 5), ("plum", 1, 1)])
    question: dict[str, Any] = {"per": "minute", "since": BEGIN}
    with client.live("by_time", **question) as updates:
        told = iter(updates)
        first = next(told)
        assert [(row["item"], timing) for row, timing in first] == [("pear", "on time"), ("plum", "early")]
        assert (first.reset, first.cut) == (True, cut_after(market.events))
        market.order("apple", minute=1)
        second = next(told)
        assert [(row["item"], row["start"].minute, timing) for row, timing in second] == [("apple", 1, "early")]
        assert updates.answer == client.query("by_time", **question)


def test_the_whole_range_as_one_window_is_followed(market: Shop, client: Client) -> None:
    market.orders([("pear", 0, 5), ("plum", 1, 1)])
    question: dict[str, Any] = {"every": "all", "by": "item", "top": "pieces", "since": BEGIN}
    with client.live("by_time", **question) as updates:
        told = iter(updates)
        assert [(row["item"], row["pieces"], timing) for row, timing in next(told)] == [
            ("pear", 5, "early"),
            ("plum", 1, "early"),
        ]
        market.order("plum", minute=2, pieces=6)
        assert [(row["item"], row["pieces"], timing) for row, timing in next(told)] == [("plum", 7, "early")]
        assert updates.answer == client.query("by_time", **question)


def test_two_ranges_are_followed_side_by_side(market: Shop, client: Client) -> None:
    market.orders([("pear", 0, 5), ("plum", 50, 1)])
    until = BEGIN + datetime.timedelta(hours=1)
    question: dict[str, Any] = {"last": "30m", "against": "1h", "until": until}
    with client.live("by_time", **question) as updates:
        told = iter(updates)
        rows = [(row["item"], row["orders"], row["orders_against"], timing) for row, timing in next(told)]
        assert rows == [("pear", 0, 1, "early"), ("plum", 1, 1, "early")]
        market.order("pear", minute=59)
        assert [(row["item"], row["orders"], row["orders_against"]) for row, _ in next(told)] == [("pear", 1, 2)]
        assert updates.answer == client.query("by_time", **question)


def test_a_client_can_be_asked_for_closed_windows_only(market: Shop, client: Client) -> None:
    market.orders([("pear", 0, 5), ("plum", 1, 1)])
    (first,) = client.live("by_time", on="close", per="minute", seconds=0.2)
    assert [row["item"] for row, _ in first] == ["pear"]


def test_a_client_shows_life_while_nothing_changes(market: Shop, client: Client) -> None:
    beats = [update is None for update in client.live("total", heartbeat=0.1, seconds=0.6).beats()]
    assert beats.count(False) == 1
    assert beats.count(True) >= 1


def test_updates_can_be_awaited(market: Shop, client: Client) -> None:
    async def first_two() -> list[int]:
        found = []
        async for update in client.live("total", item="pear", heartbeat=0.2):
            found.append(sum(row["orders"] for row, _ in update))
            if len(found) == 2:
                return found
            market.order("pear")
        return found

    market.order("pear")
    assert asyncio.run(first_two()) == [1, 2]


def test_mistakes_are_the_same_errors_near_and_far(client: Client) -> None:
    for mistake in ({"on": "soon"}, {"on": "close"}, {"itm": 5}, {"limit": 20_000}, {"heartbeat": 0}):
        with pytest.raises(UsageError, match=r"bad trigger|never closes|did you mean|at most|bad heartbeat"):
            next(iter(client.live("total", **mistake)))
    with pytest.raises(UsageError, match="unknown view"):
        next(iter(client.live("totl")))


def test_a_client_far_away_outlives_the_server(market: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    from tarnbeck.serve import remote

    monkeypatch.setattr(remote, "_AGAIN", 0.05)
    market.order("pear")
    with connect(market.server.url) as client, client.live("total") as updates:
        told = iter(updates)
        assert len(next(told)) == 1
        market.server.stop()
        market.order("plum")
        market.server = market.serve(market.server.port)
        assert [row["item"] for row, _ in next(told)] == ["pear", "plum"]
        assert updates.answer is not None
        assert updates.answer.rows == answer(market.store, Question("total")).rows
        market.server.stop()
        monkeypatch.setattr(remote, "GIVES_UP", 0.0)
        with pytest.raises(LogError, match="is tarnbeck running there"):
            next(told)
