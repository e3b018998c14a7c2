"""The system as the page sees it: flow, versions, streams, their newest events, and the batch layer alone."""

from __future__ import annotations

import http.client
import io
import json
from pathlib import Path

import pytest
from pyarrow import parquet

from tarnbeck.log import topics
from tarnbeck.log.broker import Broker
from tarnbeck.log.produce import Sender
from tarnbeck.plan.definition import of_stream
from tarnbeck.serve import tail
from tarnbeck.serve.clock import now
from tarnbeck.serve.http import application, serve
from tarnbeck.store.sqlite import SQLiteStore
from tests.log.declared import stream as declared
from tests.serve.sample import Event, cut_after
from tests.serve.web import Call


def test_the_flow_is_told_to_everyone(call: Call) -> None:
    found = call("GET", "/flow").json
    assert (found["app"], [part["part"] for part in found["parts"]]) == ("shop", ["speed"])


def test_one_stream_is_told_with_its_schema(call: Call) -> None:
    found = call("GET", "/streams/orders").json
    assert (found["stream"], found["columns"][0]) == ("orders", {"name": "time", "type": "timestamp"})
    assert call("GET", "/streams/order").error.endswith("did you mean 'orders'?")


def test_without_a_log_there_are_no_events_to_look_at(call: Call) -> None:
    assert (call("GET", "/streams/orders/events").status, call("GET", "/streams/other/events").status) == (503, 404)


def test_the_batch_layer_alone_answers_at_its_own_cut(call: Call, events: list[Event]) -> None:
    third = events[: len(events) // 3]
    found = call("GET", "/views/total?layer=batch").json
    assert found["cut"]["offsets"] == {str(p): o for p, o in cut_after(third)}
    assert sum(row["orders"] for row in found["rows"]) == len(third)
    assert sum(row["orders"] for row in call("GET", "/views/total").json["rows"]) == len(events)
    assert "expected batch" in call("GET", "/views/total?layer=speed").error


def test_answers_can_be_parquet(call: Call) -> None:
    kind = "application/vnd.apache.parquet"
    reply = call("GET", "/views/total?item=apple", accept=kind)
    assert reply.headers["content-type"] == kind
    (row,) = parquet.read_table(io.BytesIO(reply.content)).to_pylist()
    assert row["orders"] == call("GET", "/views/total?item=apple").json["rows"][0]["orders"]
    asked = call("POST", "/sql", "select count(*) as n from total", accept=kind, content_type="text/plain")
    assert parquet.read_table(io.BytesIO(asked.content)).num_rows == 1


@pytest.fixture
def filled(broker: Broker, topic_name: str) -> str:
    """A topic with ten events in two partitions."""
    topics.ensure(broker.settings, declared(topic_name))
    with Sender(broker.settings, declared(topic_name)) as sender:
        for number in range(10):
            sender.send(b'{"n": %d}' % number, partition=number % 2)
        sender.flush()
    return topic_name


@pytest.mark.broker
def test_the_newest_events_are_told_and_then_those_behind_them(broker: Broker, filled: str) -> None:
    first = tail.newest(broker.settings, filled, None, 4)
    assert len(first["events"]) == 4
    assert (first["skipped"], first["next"]) == (0, "0:5 1:5")
    with Sender(broker.settings, declared(filled)) as sender:
        for number in range(6):
            sender.send(b"later %d" % number, partition=0)
        sender.flush()
    after = tail._after(first["next"])
    assert [each["value"] for each in tail.newest(broker.settings, filled, after, 100)["events"]] == [
        f"later {number}" for number in range(6)
    ]
    some = tail.newest(broker.settings, filled, after, 2)
    assert ([each["value"] for each in some["events"]], some["skipped"]) == (["later 4", "later 5"], 4)


@pytest.mark.broker
def test_large_events_are_left_out_and_not_gathered(
    broker: Broker, filled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "BYTES", 20)
    assert len(tail.newest(broker.settings, filled, None, 10)["events"]) == 2


@pytest.mark.broker
def test_a_stream_tells_where_its_partitions_begin_and_end(broker: Broker, filled: str, tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "store", now)
    made, end = declared(filled), topics.end(broker.settings, filled)
    store.register_stream(
        made.name, json.dumps(of_stream(made)), end.topic, topics.beginning(broker.settings, filled), end
    )
    server = serve(application(store, log=broker.settings), "127.0.0.1", 0)
    connection = http.client.HTTPConnection(server.host, server.port, timeout=20)
    connection.request("GET", f"/streams/{made.name}")
    found = json.loads(connection.getresponse().read())
    assert found["places"] == [{"partition": p, "first": 0, "end": 5, "lake": 0} for p in (0, 1)]
    connection.request("GET", f"/streams/{made.name}/events?limit=3")
    assert len(json.loads(connection.getresponse().read())["events"]) == 3
    connection.request("GET", f"/streams/{made.name}/events?limit=0")
    assert b"expected 1 to 500" in connection.getresponse().read()
    connection.close()
    server.stop()
    store.close()
