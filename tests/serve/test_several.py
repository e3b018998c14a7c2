"""Several values of one key: the rows of all of them, as a filter over the answer of every key gives them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tarnbeck as tb
from tarnbeck.errors import UsageError
from tarnbeck.serve import shape, sql
from tarnbeck.serve.answer import Question, answer, quick
from tarnbeck.serve.http import Server
from tarnbeck.store.sqlite import SQLiteStore
from tests.serve.market import Listen, Shop
from tests.serve.sample import NOW
from tests.serve.web import Call

Row = dict[str, Any]


@pytest.mark.parametrize(
    ("keys", "fits"),
    [
        ({"item": ["pear", "plum"]}, lambda row: row["item"] in ("pear", "plum")),
        ({"item": ["pear", None, "pear", "no such"]}, lambda row: row["item"] in ("pear", None)),
        ({"shop": [1, None]}, lambda row: row["shop"] in (1, None)),
        ({"item": ("pear", "apple"), "shop": {"1", "2"}}, lambda row: row["item"] in ("pear", "apple") and row["shop"]),
        ({"item": ["plum", None], "shop": 2}, lambda row: row["item"] in ("plum", None) and row["shop"] == 2),
        ({"item": "plum", "shop": [2]}, lambda row: row["item"] == "plum" and row["shop"] == 2),
    ],
)
def test_all_rows_of_any_combination_in_their_order(
    store: SQLiteStore, keys: dict[str, Any], fits: Callable[[Row], bool]
) -> None:
    expected = [row for row in answer(store, Question("by_shop")) if fits(row)]
    assert answer(store, Question("by_shop", keys)).dicts() == expected
    assert expected


def test_the_newest_windows_are_chosen_among_all_of_them(store: SQLiteStore) -> None:
    asked = {"item": ["pear", "plum", "apple"]}
    every = answer(store, Question("by_time", asked)).dicts()
    few = answer(store, Question("by_time", asked, limit=4))
    newest = sorted({row["start"] for row in every})[-2:]
    assert few.truncated
    assert {row["start"] for row in few} <= set(newest)
    assert [row["item"] for row in few] == sorted(row["item"] for row in few)


def test_coarser_answers_take_several_too(store: SQLiteStore) -> None:
    counts = {row["item"]: row["orders"] for row in answer(store, Question("total"))}
    (both,) = answer(store, Question("total", {"item": ["pear", None]}, shape=shape.read("", None)))
    assert both["orders"] == counts["pear"] + counts[None]
    compared = Question("by_time", {"item": ["pear", None]}, since=NOW - 600_000_000, against=NOW - 3_600_000_000)
    assert [(row["item"], row["orders_against"]) for row in answer(store, compared)] == [
        (None, counts[None]),
        ("pear", counts["pear"]),
    ]


def test_what_is_remembered_of_one_question_is_not_given_for_another(store: SQLiteStore) -> None:
    for items in (["pear"], ["pear", "plum"], ["plum"], ["plum", "pear"]):
        assert {row["item"] for row in answer(store, Question("total", {"item": items}))} == set(items)


def test_several_keys_are_not_answered_in_between(store: SQLiteStore) -> None:
    assert quick(store, Question("total", {"item": ["pear"]}), NOW) is not None
    assert quick(store, Question("total", {"item": ["pear", "plum"]}), NOW) is None


def test_every_way_to_ask_gives_the_same(server: Server, call: Call, store: SQLiteStore) -> None:
    expected = answer(store, Question("total", {"item": ["pear", None]})).dicts()
    with tb.connect(server.url) as remote:
        assert remote.query("total", item=["pear", None]).dicts() == expected
    orders = [row["orders"] for row in expected]
    for path in ("item=pear&null=item", "key.item=pear&null=item&item=pear"):
        assert [row["orders"] for row in call("GET", f"/views/total?{path}").json["rows"]] == orders
    assert sql.query(store, "select * from total(item => ['pear', null]) order by item nulls first").dicts() == expected


def test_live_questions_follow_all_of_them(market: Shop, listen: Listen) -> None:
    market.orders([("pear", 0, 1), ("plum", 0, 1), ("apple", 0, 1)])
    stream = listen("/views/total/live?item=pear&item=plum")
    assert [row["item"] for _, row in stream.update().rows] == ["pear", "plum"]
    market.orders([("apple", 0, 1), ("plum", 0, 1)])
    assert [(row["item"], row["orders"]) for _, row in stream.update().rows] == [("plum", 2)]


def test_no_value_and_too_many_are_refused(server: Server, store: SQLiteStore) -> None:
    with pytest.raises(UsageError, match=r"key 'item': no value is given\n  leave it out"):
        answer(store, Question("total", {"item": []}))
    with tb.connect(server.url) as remote, pytest.raises(UsageError, match="key 'item': no value is given"):
        remote.query("total", item=[])
    many = {"item": [f"{i}" for i in range(100)], "shop": list(range(11))}
    with pytest.raises(UsageError, match=r"1,100 combinations of keys\n  expected at most 1,000"):
        answer(store, Question("by_shop", many))
    with pytest.raises(UsageError, match="expected int"):
        answer(store, Question("by_shop", {"shop": [1, "one"]}))
