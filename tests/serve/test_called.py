"""A view written as a function in SQL: the rows of the same question asked elsewhere, whatever is pushed down."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlglot import exp

from tarnbeck.errors import UsageError
from tarnbeck.plan.view import View
from tarnbeck.serve import called, narrow, shape, sql
from tarnbeck.serve.answer import MissingError, Question, answer
from tarnbeck.serve.moment import micros
from tarnbeck.store.sqlite import SQLiteStore
from tests.serve.sample import Event, cut_after, filled
from tests.serve.test_shape import sites

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def sold(events: list[Event], tmp_path_factory: pytest.TempPathFactory) -> Iterator[SQLiteStore]:
    opened = filled(tmp_path_factory.mktemp("sites") / "store", sites(), events)
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("text", "view", "wanted", "more"),
    [
        ("minutes(by => '', every => '15 minutes')", "minutes", {"by": "", "every": "15 minutes"}, {}),
        ("minutes(by => 'item', fill => true)", "minutes", {"by": "item", "every": None, "fill": True}, {}),
        ("Minutes(BY := ['item', 'odd=shop % 2'])", "minutes", {"by": ["item", "odd=shop % 2"], "every": None}, {}),
        ("minutes(item => 'pear', by => '')", "minutes", {"by": "", "every": None}, {"keys": {"item": "pear"}}),
        (
            "minutes(shop => 1, item => null, cumulative => true)",
            "minutes",
            {"by": None, "every": None, "cumulative": True},
            {"keys": {"shop": 1, "item": None}},
        ),
        (
            "minutes(by => 'item', every => 'all', since => '2026-03-01 10:20', until => timestamp '2026-03-01 10:30')",
            "minutes",
            {"by": "item", "every": "all"},
            {"since": micros("2026-03-01T10:20"), "until": micros("2026-03-01T10:30")},
        ),
        ("slid(by => '')", "slid", {"by": "", "every": None}, {}),
        ("sessions(by => 'item')", "sessions", {"by": "item", "every": None}, {}),
        ("total(by => '')", "total", {"by": "", "every": None}, {}),
        ("total()", "total", {"by": None, "every": None}, {}),
    ],
)
def test_it_gives_the_rows_of_the_same_question(
    sold: SQLiteStore, events: list[Event], text: str, view: str, wanted: dict[str, Any], more: dict[str, Any]
) -> None:
    expected = answer(sold, Question(view, shape=shape.read(**wanted), **more))
    given = sql.query(sold, f"select * from {text}")  # noqa: S608
    assert given.dicts() == expected.dicts()
    assert given.arrow().schema == expected.arrow().schema
    assert dict(given.cuts) == {view: cut_after(events)}


def test_a_level_is_chosen_by_per_and_is_the_finest_without(store: SQLiteStore) -> None:
    for argument, per in (("", "minute"), ("per => 'hour'", "hour")):
        expected = answer(store, Question("by_time", per=per))
        assert sql.query(store, f"select * from by_time({argument})").dicts() == expected.dicts()  # noqa: S608


def test_several_mentions_and_plain_tables_are_one_moment(sold: SQLiteStore, events: list[Event]) -> None:
    found = sql.query(
        sold,
        "with hours as (select sum(n) as n from minutes(by => '', every => '1 hour')) "
        "select h.n, a.n as n2, (select sum(n) from total) as n3 from hours h, minutes(by => '', every => 'all') a",
    )
    assert found.dicts() == [{"n": len(events), "n2": len(events), "n3": len(events)}]
    assert set(found.cuts) == {"minutes", "total"}


CALLS = [
    "minutes(by => 'item')",
    "minutes(by => ['name=item', 'shop'], every => '10 minutes')",
    "minutes(by => 'item=left(item, 2)')",
    "minutes(by => 'item', fill => true)",
    "minutes(by => 'item', cumulative => true)",
    "minutes(item => 'pear')",
    "minutes(by => ['item', 'shop'], item => 'pear', since => '2026-03-01 10:20')",
    "slid(by => 'item')",
    "sessions(by => 'item')",
]
CONDITIONS = [
    "item = 'pear'",
    "item in ('pear', 'plum', 'pe', 'pear')",
    "item is null",
    "item = 'pear' and item = 'plum'",
    "name = 'pear' and shop in (1, 2)",
    "x.start >= '2026-03-01 10:25:00' and start < '2026-03-01 10:41:30'",
    "start = '2026-03-01 10:20:00'",
    "start > now() - interval '1 hour'",
    "n > 1 and start between '2026-03-01 10:15:00' and '2026-03-01 10:35:00' and item = 'plum'",
]


@pytest.mark.parametrize("call", CALLS)
def test_conditions_give_what_they_give_after_all_rows_were_read(
    sold: SQLiteStore, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = sql.query(sold, f"select * from {call}").arrow().schema.names  # noqa: S608
    texts = [f"select * from {call} as x where {condition} order by all" for condition in CONDITIONS]  # noqa: S608
    if "name" not in columns:
        texts = [text for text in texts if "name =" not in text]
    if "item" not in columns:
        texts = [text for text in texts if "item" not in text.partition("where")[2]]
    sought = [sql.query(sold, text).dicts() for text in texts]
    monkeypatch.setattr(narrow, "questions", _everything)
    assert sought == [sql.query(sold, text).dicts() for text in texts]
    assert any(sought)


def _everything(view: View, table: exp.Table, fold: called.Fold) -> list[Question]:
    return [called.question(view, table.this, fold)]


@pytest.mark.parametrize(
    ("text", "keys", "since"),
    [
        ("select * from minutes(by => 'name=item') where name = 'pear'", {"item": "pear"}, None),
        ("select * from minutes(by => 'name=upper(item)') where name = 'pear'", {}, None),
        ("select * from minutes(fill => true) where item = 'pear' and start >= '1970-01-02'", {}, None),
        ("select * from minutes(every => '1 hour') where start >= '1970-01-02'", {}, 86_400_000_000),
        (
            "select * from minutes(cumulative => true) where item = 'pear' and start >= '1970-01-02'",
            {"item": "pear"},
            None,
        ),
        ("select * from minutes(since => '1970-01-03') where start >= '1970-01-02'", {}, 2 * 86_400_000_000),
    ],
)
def test_only_what_changes_no_row_is_pushed_down(
    sold: SQLiteStore, text: str, keys: dict[str, Any], since: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Question] = []
    original = narrow.questions

    def noted(view: View, table: exp.Table, fold: called.Fold) -> list[Question]:
        asked[:] = original(view, table, fold)
        return asked

    monkeypatch.setattr(narrow, "questions", noted)
    sql.query(sold, text)
    assert [(question.keys, question.since) for question in asked] == [(keys, since)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("minutes(evry => '1 day')", "sql: view 'minutes': unknown argument 'evry'"),
        ("minutes('item')", "an argument has no name: 'item'"),
        ("minutes(item = 'pear')", "an argument has no name"),
        ("minutes(by => 'item', by => 'shop')", "argument 'by' is given twice"),
        ("minutes(item => 'a', ITEM => 'b')", "argument 'item' is given twice"),
        ("minutes(by => 5)", "by: expected a text or a list of texts"),
        ("minutes(by => ['item', 5])", "by: expected a text or a list of texts"),
        ("minutes(every => 5)", "every: expected a text"),
        ("minutes(every => 'soon')", "bad duration 'soon'"),
        ("minutes(fill => 'yes')", "fill: expected true or false"),
        ("minutes(since => random())", "since: expected a constant time"),
        ("minutes(since => 'soon')", "bad time in since='soon'"),
        ("minutes(item => lower('A'))", "item: expected a constant"),
        ("minutes(shop => 'x')", "key 'shop': expected int"),
        ("minutes(having => 'n > 1')", "say it in the query itself, by WHERE"),
        ("minutes(top => 'n')", "by ORDER BY and LIMIT"),
        ("minutes(per => 'day')", "unknown level 'day'"),
        ("minutes(by => 'colour')", "unknown column 'colour'"),
        ("slid(every => '1 hour')", "can't be put together"),
    ],
)
def test_a_mistake_is_told_with_its_place(sold: SQLiteStore, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        sql.query(sold, f"select * from {text}")  # noqa: S608


def test_a_function_that_is_no_view_is_refused_as_ever(sold: SQLiteStore) -> None:
    for text in ("read_csv(by => 'x')", "main.minutes(by => '')", "nosuch(by => '')"):
        with pytest.raises(MissingError, match="unknown view"):
            sql.query(sold, f"select * from {text}")  # noqa: S608
