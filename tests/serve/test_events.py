"""Events that come in over HTTP."""

from __future__ import annotations

import http.client
import json
from pathlib import Path

import pyarrow as pa
import pytest

import tarnbeck as tb
from tarnbeck.cut import Cut
from tarnbeck.log import topics
from tarnbeck.log.broker import Broker
from tarnbeck.log.produce import Offsets
from tarnbeck.plan.definition import of_stream
from tarnbeck.schema.packs import ARROW, of_table
from tarnbeck.serve.client import connect
from tarnbeck.serve.clock import now
from tarnbeck.serve.http import Server, application, serve
from tarnbeck.store.sqlite import SQLiteStore
from tests.serve.sample import BEGIN
from tests.serve.web import Call, Outbox


def test_streams_are_listed_with_their_definition(call: Call, app: tb.App) -> None:
    (stream,) = call("GET", "/streams").json["streams"]
    assert stream["stream"] == "orders"
    assert tb.App("again").stream_of(stream["definition"]) == app.streams["orders"]


@pytest.mark.parametrize(
    ("content_type", "body", "values"),
    [
        ("application/json", ' {"item": "pear", "price": 1.10000000000000000001} ', 1),
        ("application/json", '[{"item": "pear"} ,\n {"n": 1.0e400}, 5 ]', 3),
        ("application/x-ndjson", '{"item": "pear"}\n\n{"broken\r\n{"item": "plum"}', 3),
        ("application/x-ndjson; charset=utf-8", '{"item": "ä"}\n', 1),
    ],
)
def test_events_are_sent_exactly_as_they_were_written(
    call: Call, outbox: Outbox, content_type: str, body: str, values: int
) -> None:
    reply = call("POST", "/streams/orders/events", body.encode(), Content_Type=content_type)
    assert reply.status == 200
    assert reply.json == {"acknowledged": values, "offsets": {"0": [10, 9 + values]}, "failed": []}
    rest = body.encode()
    for line in outbox.lines:
        before, found, rest = rest.partition(line.value)
        assert found
        assert not before.strip(b" [,\r\n")


def test_the_events_of_a_large_body_and_the_rows_of_a_table_are_packed(call: Call, outbox: Outbox) -> None:
    lines = b"\n".join(b'{"item": "%04d"}' % number for number in range(5000))
    for body, packed in ((lines, 5000), (lines[: 2**15], 0)):
        reply = call("POST", "/streams/orders/events", body, Content_Type="application/x-ndjson")
        assert (reply.json["acknowledged"], outbox.packed) == (len(outbox.lines), packed)
        assert b"\n".join(line.value for line in outbox.lines) == body
    body = of_table(pa.table({"item": ["pear", "plum"], "price": [1.5, None]})).value
    reply = call("POST", "/streams/orders/events", body, Content_Type=ARROW)
    assert (reply.status, reply.json["acknowledged"], outbox.packed) == (200, 2, 2)
    assert [line.value for line in outbox.lines] == [b'{"item":"pear","price":1.5}', b'{"item":"plum"}']


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        (ARROW, b"no arrow"),
        (ARROW, of_table(pa.table({"item": ["pear"]})).value[:-30]),
        (ARROW, 2 * of_table(pa.table({"item": ["pear"]})).value),
        (ARROW, of_table(pa.table({"item": pa.array([], pa.string())})).value),
        (ARROW, of_table(pa.table({"item": pa.array([1], pa.duration("s"))})).value),
        ("application/json", ""),
        ("application/json", "[]"),
        ("application/json", "hello"),
        ("application/json", '"hello"'),
        ("application/json", '{"item": "pear"} {"item": "plum"}'),
        ("application/json", '[{"item": "pear"}, {"broken]'),
        ("application/json", '[{"item": "pear"}'),
        ("application/json", '[{"item": "pear"}] x'),
        ("application/json", "[" * 200_000),
        ("application/json", b'{"item": "\xff"}'),
        ("application/x-ndjson", "hello\nworld"),
        ("application/x-ndjson", "\n\n"),
    ],
)
def test_a_body_that_is_not_json_sends_nothing(
    call: Call, outbox: Outbox, content_type: str, body: str | bytes
) -> None:
    outbox.lines.clear()
    reply = call("POST", "/streams/orders/events", body, Content_Type=content_type)
    assert reply.status == 400
    assert reply.error.startswith("events: ")
    assert outbox.lines == []


def test_what_the_log_did_not_take_is_told(call: Call) -> None:
    reply = call("POST", "/streams/orders/events", '[{"a": 1}, {"a": "refuse"}]', Content_Type="application/json")
    assert reply.status == 503
    assert reply.json["acknowledged"] == 1
    assert reply.json["failed"] == [{"reason": "timed out", "count": 1, "first": "event 2"}]


def test_events_for_an_unknown_stream_are_refused(call: Call) -> None:
    reply = call("POST", "/streams/order/events", "{}")
    assert reply.status == 404
    assert "did you mean 'orders'" in reply.error


def test_an_event_that_is_too_large_sends_nothing(call: Call, outbox: Outbox) -> None:
    outbox.lines.clear()
    large = json.dumps([{"a": 1}, {"a": "x" * 2**20}])
    reply = call("POST", "/streams/orders/events", large, Content_Type="application/json")
    assert reply.status == 413
    assert "event 2 is too large" in reply.error
    assert outbox.lines == []


def test_a_body_that_is_too_large_is_refused_before_it_is_read(server: Server) -> None:
    connection = http.client.HTTPConnection(server.host, server.port, timeout=20)
    connection.putrequest("POST", "/streams/orders/events")
    connection.putheader("Content-Length", str(17 * 2**20))
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()


def test_a_body_of_unknown_length_is_refused_once_it_is_too_large(server: Server) -> None:
    connection = http.client.HTTPConnection(server.host, server.port, timeout=20)
    chunks = (b"x" * 2**16 for _ in range(5))
    connection.request("POST", "/sql", chunks, encode_chunked=True, headers={"Transfer-Encoding": "chunked"})
    assert connection.getresponse().status == 413
    connection.close()


@pytest.mark.broker
def test_events_are_acknowledged_by_the_log_with_their_offsets(broker: Broker, topic_name: str, tmp_path: Path) -> None:
    app = tb.App("web")
    stream = app.stream(
        "orders", "time timestamp, item string", time="time", key="item", topic=topic_name, partitions=1
    )
    state = topics.ensure(broker.settings, stream)
    store = SQLiteStore(tmp_path / "store", now)
    origin = Cut.of(state.id, {})
    store.register_stream("orders", json.dumps(of_stream(stream)), state.id, origin, origin)
    running = serve(application(store, log=broker.settings), "127.0.0.1", 0)
    with connect(running.url) as client:
        first = client.send("orders", [{"time": BEGIN, "item": str(number)} for number in range(100)])
        second = client.send("orders", [{"time": BEGIN, "item": "last"}])
    running.stop()
    assert (first.acknowledged, first.failed, first.offsets) == (100, 0, (Offsets(0, 0, 99),))
    assert second.offsets == (Offsets(0, 100, 100),)
    assert topics.end(broker.settings, topic_name) == Cut.of(state.id, {0: 101})
    store.close()
