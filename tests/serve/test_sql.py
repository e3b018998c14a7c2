"""SQL over views: the same rows as answers, nothing but reading, bounded."""

from __future__ import annotations

import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from sqlglot import exp

import tarnbeck as tb
from tarnbeck.errors import NotReady, UsageError
from tarnbeck.plan.view import View
from tarnbeck.serve import narrow, sql
from tarnbeck.serve.answer import MOST, MissingError, Question, answer
from tarnbeck.serve.called import Fold
from tarnbeck.store.sqlite import SQLiteStore
from tests.serve.sample import Event, cut_after, feed, filled


def test_a_view_is_a_table_of_its_answer(store: SQLiteStore, events: list[Event]) -> None:
    given = sql.query(store, "select * from by_shop")
    expected = answer(store, Question("by_shop"))
    assert given.dicts() == expected.dicts()
    assert given.arrow().schema == expected.arrow().schema
    assert dict(given.cuts) == {"by_shop": cut_after(events)}


def test_a_rollup_has_all_its_levels_and_names_them(store: SQLiteStore, events: list[Event]) -> None:
    given = sql.query(store, "select level, sum(orders) as orders from by_time group by level order by level")
    assert given.dicts() == [{"level": level, "orders": len(events)} for level in ("day", "hour", "minute")]


def test_views_of_one_query_come_with_the_cut_of_each(store: SQLiteStore, events: list[Event]) -> None:
    given = sql.query(
        store,
        "with days as (select item, orders from by_time where level = 'day') "
        "select t.orders - d.orders as difference from total t join days d on t.item is not distinct from d.item",
    )
    assert [row["difference"] for row in given] == [0, 0, 0, 0]
    assert dict(given.cuts) == {"by_time": cut_after(events), "total": cut_after(events)}


CONDITIONS = [
    "item = 'pear'",
    "'pear' = ITEM",
    "item in ('pear', 'plum', 'pear')",
    "item is null",
    "item = 'pear' and item = 'plum'",
    "(item = 'pear' and (shop = 1 and orders > 1))",
    "shop in (1, 2) and item is null",
    "shop = -1 or item = 'plum'",
    "not item = 'pear'",
    "shop = 1.0",
    "shop = 1.5",
    "shop = '1'",
    "item = null",
    "x.item = 'pear'",
    "start >= '2026-03-01 10:25:00'",
    "start > timestamp '2026-03-01 10:20:00' and start <= timestamptz '2026-03-01 10:40:00+00'",
    "timestamp '2026-03-01 10:20:00' > start",
    "start = '2026-03-01 10:20:00' and item = 'pear'",
    "start between '2026-03-01 10:15:00' and '2026-03-01 10:35:00'",
    "start < date_trunc('hour', timestamp '2026-03-01 10:20:00') + interval '30 minutes'",
    "start > now() - interval '1 hour'",
    "start < now() + interval '1 hour'",
    "start > '0001-01-01'",
    "start = null",
    "start > (select max(start) from by_shop) - interval '20 minutes'",
]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions_that_are_sought_by_give_what_they_give_without(
    store: SQLiteStore, condition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"select * from by_shop as x where {condition} order by all"  # noqa: S608
    sought = sql.query(store, text).dicts()
    monkeypatch.setattr(narrow, "questions", everything)
    assert sought == sql.query(store, text).dicts()


def everything(view: View, table: exp.Table, fold: Fold) -> list[Question]:
    return [Question(view.name, per=level, limit=MOST) for level in view.window.levels]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Question]:
    """The questions that queries put to views."""
    found: list[Question] = []
    original = narrow.questions

    def noted(view: View, table: exp.Table, fold: Fold) -> list[Question]:
        put = original(view, table, fold)
        found.extend(put)
        return put

    monkeypatch.setattr(narrow, "questions", noted)
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select * from by_shop where item = 'pear' and shop = 2", [({"item": "pear", "shop": "2"}, "10 minutes")]),
        ("select * from by_time where level = 'hour'", [({}, "hour")]),
        ("select * from by_time where level = 'century'", []),
        ("select * from total where item in ('a', 'b')", [({"item": "a"}, "all"), ({"item": "b"}, "all")]),
        ("select * from total as t(orders, item) where item = '5'", [({}, "all")]),
        ("select * from total as a join total as b using (item) where item = 'pear'", [({}, "all")] * 2),
        ("select * from total where item in ('" + "', '".join(map(str, range(300))) + "')", [({}, "all")]),  # noqa: S608
    ],
)
def test_only_the_needed_part_of_a_view_is_read(
    store: SQLiteStore, asked: list[Question], text: str, expected: list[tuple[dict[str, Any], str]]
) -> None:
    sql.query(store, text)
    assert [(question.keys, question.per) for question in asked] == expected


def test_bounds_on_start_become_a_range_of_the_question(store: SQLiteStore, asked: list[Question]) -> None:
    sql.query(store, "select * from by_shop where start >= '1970-01-02' and start <= '1970-01-03'")
    assert (asked[0].since, asked[0].until) == (86_400_000_000, 2 * 86_400_000_000 + 1)


REFUSED = [
    "",
    ";",
    "attach 'x.db' as y",
    "copy total to 'x.csv'",
    "copy (select 1) to 'x.csv'",
    "pragma version",
    "install httpfs",
    "load httpfs",
    "set threads = 1",
    "reset threads",
    "explain select 1",
    "describe total",
    "show tables",
    "call pragma_version()",
    "create table a as select 1",
    "drop view total",
    "insert into total values (1)",
    "update total set orders = 1",
    "delete from total",
    "export database 'x'",
    "vacuum",
    "checkpoint",
    "select 1; select 2",
    "select 1; drop table total",
    "select * into y from total",
    "with x as (delete from total returning *) select * from x",
    "values (1)",
]
OUTSIDE = [
    "select * from '/etc/passwd'",
    "select * from 'x.parquet'",
    'select * from "x.csv"',
    "select * from read_csv('/etc/passwd')",
    "select * from read_csv_auto('/etc/passwd')",
    "select * from read_parquet('x')",
    "select * from read_json('x')",
    "select * from read_text('/etc/passwd')",
    "select * from read_blob('/etc/passwd')",
    "select * from parquet_scan('x')",
    "select * from sqlite_scan('x', 'y')",
    "select * from glob('*')",
    "select * from query('select 1')",
    "select * from query_table('total')",
    "select * from duckdb_settings()",
    "select * from pragma_version()",
    "select * from information_schema.tables",
    "select * from duckdb_tables",
    "select * from main.total",
    "select 1 where exists (select * from read_csv('/etc/passwd'))",
    "with x as (select * from 'x.csv') select * from x",
    "select * from total union all select * from read_csv('x')",
    "select * from store",
    "select * from _0",
]


@pytest.mark.parametrize("text", REFUSED)
def test_all_but_one_query_is_refused(store: SQLiteStore, text: str) -> None:
    with pytest.raises(UsageError, match="only one query can be asked, and only to read"):
        sql.query(store, text)


@pytest.mark.parametrize("text", OUTSIDE)
def test_what_is_no_view_is_refused(store: SQLiteStore, text: str) -> None:
    with pytest.raises(MissingError, match="unknown view"):
        sql.query(store, text)


@pytest.mark.parametrize("text", ["copy (select 1) to '{}'", "attach '{}' as y", "select * from read_text('{}')"])
def test_the_engine_itself_reaches_no_file(text: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    with pytest.raises(UsageError, match="Permission Error"), sql._engine(5) as engine:
        engine._connection.execute(text.format(file))
    assert not file.exists()


@pytest.mark.parametrize("setting", ["enable_external_access = true", "memory_limit = '8GB'", "threads = 8"])
def test_the_engine_itself_can_not_be_unlocked(setting: str) -> None:
    with pytest.raises(UsageError, match="locked"), sql._engine(5) as engine:
        engine._connection.execute(f"SET {setting}")


def test_a_mistake_in_the_text_is_told_with_its_place(store: SQLiteStore) -> None:
    with pytest.raises(UsageError, match=r"sql: line 2, column \d+: "):
        sql.query(store, "select *\nfrm total")


def test_an_unknown_column_is_told_with_its_neighbours(store: SQLiteStore) -> None:
    with pytest.raises(UsageError, match='"itm" not found'):
        sql.query(store, "select itm from total")


def test_rows_beyond_the_limit_are_cut_off_and_told(store: SQLiteStore) -> None:
    given = sql.query(store, "select * from range(5000)", limit=100)
    assert len(given) == 100
    assert given.truncated
    exact = sql.query(store, "select * from range(100)", limit=100)
    assert len(exact) == 100
    assert not exact.truncated


def test_a_query_that_takes_too_long_is_stopped(store: SQLiteStore) -> None:
    began = time.monotonic()
    with pytest.raises(UsageError, match=r"stopped after 0.2 s"):
        sql.query(store, "select count(*) from range(1000000000) a, range(1000000000) b", seconds=0.2)
    assert time.monotonic() - began < 5


def test_a_query_that_needs_too_much_memory_is_stopped(store: SQLiteStore) -> None:
    with pytest.raises(UsageError, match=r"(?i)memory"):
        sql.query(store, "select list(a.range) from range(200000000) a", seconds=20)


def test_equal_names_of_columns_are_told_apart(store: SQLiteStore) -> None:
    assert sql.query(store, "select 1 as a, 2 as a, 3 as a").dicts() == [{"a": 1, "a_1": 2, "a_2": 3}]


def test_sums_of_integers_stay_exact(store: SQLiteStore) -> None:
    (row,) = sql.query(store, "select sum(pieces) * 1000000000000000000 as big from total")
    assert isinstance(row["big"], Decimal)
    assert row["big"] % 10**18 == 0


def test_a_name_that_with_gives_hides_a_view(store: SQLiteStore) -> None:
    given = sql.query(store, "with Total as (select 5 as five) select * from total")
    assert given.dicts() == [{"five": 5}]
    inner = sql.query(store, "with total as (select count(*) as n from total) select n from total")
    assert inner.dicts() == [{"n": 4}]


def test_a_common_cut_can_be_asked_for(tmp_path: Path, app: tb.App, events: list[Event]) -> None:
    store = filled(tmp_path, app, events[:60])
    feed(store, app, events[:60], events[60:70], views=["total"])
    text = "select count(*) from total, by_time"
    assert len(set(sql.query(store, text).cuts.values())) == 2
    with pytest.raises(NotReady, match="view 'by_time': it lags"):
        sql.query(store, text, same_cut=0.05)
    store.close()
