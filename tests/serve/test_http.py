"""Views and SQL over HTTP, through a real server and a plain client."""

from __future__ import annotations

import csv
import http.client
import io
import json
from pathlib import Path

import pyarrow as pa
import pytest

import tarnbeck as tb
from tarnbeck.serve.answer import Question, answer
from tarnbeck.serve.http import application, serve
from tarnbeck.store.sqlite import SQLiteStore
from tests.serve.sample import NOW, Event, cut_after, feed, register
from tests.serve.web import ARROW, Call


def test_views_are_listed_with_all_that_a_question_needs(call: Call, events: list[Event]) -> None:
    views = {view["view"]: view for view in call("GET", "/views").json["views"]}
    assert list(views) == ["by_shop", "by_time", "total"]
    assert views["by_shop"]["keys"] == [{"name": "item", "type": "string"}, {"name": "shop", "type": "int"}]
    assert views["by_time"]["levels"] == ["minute", "hour", "day"]
    assert views["total"]["outputs"][1] == {"name": "pieces", "type": "decimal(38,0)", "aggregate": "sum"}
    assert views["total"]["state"] == "answering"
    assert views["total"]["cut"]["offsets"] == {str(p): o for p, o in cut_after(events)}


def test_a_view_is_answered_as_json_with_its_cut(call: Call, store: SQLiteStore, events: list[Event]) -> None:
    reply = call("GET", "/views/by_time?item=pear&last=30m&per=minute")
    found = reply.json
    expected = answer(store, Question("by_time", {"item": "pear"}, since=NOW - 1_800_000_000))
    assert reply.headers["content-type"] == "application/json"
    assert found["view"] == "by_time"
    assert found["cut"] == {"topic": "topic-id", "offsets": {str(p): o for p, o in cut_after(events)}}
    assert (found["since"], found["until"], found["truncated"]) == ("2026-03-01T10:30:00Z", None, False)
    assert len(found["rows"]) == len(expected) > 0
    row, first = found["rows"][0], expected.dicts()[0]
    assert row["start"] == "2026-03-01T10:30:00Z"
    assert row["orders"] == first["orders"]
    assert row["turnover"] == (None if first["turnover"] is None else str(first["turnover"]))
    assert row["pieces"] == (None if first["pieces"] is None else str(first["pieces"]))


def test_null_keys_and_keys_named_like_parameters_can_be_asked_for(call: Call, events: list[Event]) -> None:
    (row,) = call("GET", "/views/total?null=item").json["rows"]
    assert row["orders"] == sum(event["item"] is None for event in events)
    (row,) = call("GET", "/views/total?key.item=pear").json["rows"]
    assert row["item"] == "pear"


def test_a_view_is_answered_as_arrow(call: Call, store: SQLiteStore) -> None:
    reply = call("GET", "/views/by_shop?item=plum", Accept=ARROW)
    table = pa.ipc.open_stream(reply.content).read_all()
    expected = answer(store, Question("by_shop", {"item": "plum"}))
    assert reply.headers["content-type"] == ARROW
    assert table.to_pylist() == expected.dicts()
    assert json.loads(reply.headers["tarnbeck-cut"]) == json.loads(expected.cut.to_json())


def test_a_view_is_answered_as_csv(call: Call, store: SQLiteStore) -> None:
    reply = call("GET", "/views/by_time?item=plum&per=hour", Accept="text/csv")
    header, *rows = csv.reader(io.StringIO(reply.content.decode()))
    expected = answer(store, Question("by_time", {"item": "plum"}, per="hour"))
    assert tuple(header) == expected.names
    assert rows[0][:4] == ["plum", "2026-03-01T10:00:00Z", "2026-03-01T11:00:00Z", str(expected.rows[0][3])]


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/views/by_tim", 404, "did you mean 'by_time'"),
        ("/views/by_time?itm=pear", 400, "did you mean 'item'"),
        ("/views/by_time?lst=1h", 400, "did you mean 'last'"),
        ("/views/by_time?per=week", 400, "unknown level 'week'"),
        ("/views/by_time?last=soon", 400, "bad duration"),
        ("/views/by_time?since=noon", 400, "bad time in since"),
        ("/views/by_time?limit=0", 400, "bad limit"),
        ("/views/by_time?limit=many", 400, "bad limit"),
        ("/views/by_time?wait=61", 400, "bad wait"),
        ("/views/by_time?last=1h&last=2h", 400, "given twice"),
        ("/views/by_shop?shop=x", 400, "expected int"),
        ("/nothing", 404, "Not Found"),
    ],
)
def test_a_wrong_request_is_told_what_was_expected(call: Call, path: str, status: int, words: str) -> None:
    reply = call("GET", path)
    assert reply.status == status
    assert words in reply.error


def test_content_that_can_not_be_given_is_refused(call: Call) -> None:
    assert call("GET", "/views/total", Accept="image/png").status == 406
    assert call("GET", "/views/total", Accept="image/png, */*;q=0.1").status == 200


def test_a_method_that_does_not_fit_is_refused(call: Call) -> None:
    assert call("POST", "/views").status == 405


def test_a_view_that_is_building_is_not_ready(tmp_path: Path, app: tb.App, events: list[Event]) -> None:
    fresh = SQLiteStore(tmp_path, clock=lambda: NOW)
    register(fresh, app)
    feed(fresh, app, [], events[:10])
    definition = fresh.versions()[fresh.aliases()["total"]].definition
    fresh.add_view("later", "orders", definition, "h", app.views["total"].layout)
    running = serve(application(fresh), "127.0.0.1", 0)
    connection = http.client.HTTPConnection(running.host, running.port, timeout=20)
    connection.request("GET", "/views/later?wait=0.05")
    response = connection.getresponse()
    assert response.status == 503
    assert b"it is building" in response.read()
    connection.close()
    running.stop()
    fresh.close()


def test_sql_is_answered_as_text_or_json(call: Call, events: list[Event]) -> None:
    query = "select sum(orders) as orders from total"
    plain = call("POST", "/sql", query, Content_Type="text/plain").json
    assert plain["rows"] == [{"orders": str(len(events))}]
    assert plain["cuts"]["total"]["offsets"] == {str(p): o for p, o in cut_after(events)}
    assert call("POST", "/sql", json.dumps({"sql": query}), Content_Type="application/json").json == plain
    few = json.dumps({"sql": "select * from by_time", "limit": 2})
    assert call("POST", "/sql", few, Content_Type="application/json").json["truncated"]


def test_sql_is_answered_as_arrow_or_csv(call: Call) -> None:
    query = "select item, orders from total order by item"
    table = pa.ipc.open_stream(call("POST", "/sql", query, Accept=ARROW).content).read_all()
    lines = call("POST", "/sql", query, Accept="text/csv").content.decode().splitlines()
    assert lines[0] == "item,orders"
    assert lines[1:] == [f"{row['item'] or ''},{row['orders']}" for row in table.to_pylist()]


@pytest.mark.parametrize("body", ["", "drop table total", "select * from '/etc/passwd'", b"\xff"])
def test_sql_that_is_no_query_over_views_is_refused(call: Call, body: bytes | str) -> None:
    assert call("POST", "/sql", body, Content_Type="text/plain").status in (400, 404)


@pytest.mark.parametrize("body", ["", "[]", '{"sql": 5}', '{"query": "select 1"}', '{"sql": "select 1", "rows": 5}'])
def test_sql_in_json_that_is_not_as_expected_is_refused(call: Call, body: str) -> None:
    assert call("POST", "/sql", body, Content_Type="application/json").status == 400
