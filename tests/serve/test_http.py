"""The HTTP API through a real server and a plain client."""

from __future__ import annotations

import csv
import http.client
import io
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tarnbeck as tb
from tarnbeck.errors import UsageError
from tarnbeck.log.lines import Line
from tarnbeck.log.produce import Failure, Offsets, Sent
from tarnbeck.schema.stream import Stream
from tarnbeck.serve.answer import Question, answer
from tarnbeck.serve.http import Server, application, serve
from tarnbeck.store.sqlite import SQLiteStore
from tests.serve.sample import NOW, Event, cut_after, register

TOKEN = "a token"  # noqa: S105
ARROW = "application/vnd.apache.arrow.stream"


@dataclass
class Outbox:
    """A log that keeps what it is sent, and refuses what says so."""

    lines: list[Line] = field(default_factory=list)

    def __call__(self, stream: Stream) -> Outbox:
        assert stream.name == "orders"
        self.lines.clear()
        return self

    def send_line(self, line: Line) -> None:
        self.lines.append(line)

    def flush(self) -> Sent:
        refused = [line for line in self.lines if b"refuse" in line.value]
        failures = (Failure("timed out", len(refused), refused[0].place),) if refused else ()
        taken = len(self.lines) - len(refused)
        return Sent(taken, failures, (Offsets(0, 10, 9 + taken),) if taken else ())


class Steward:
    """A node that does what its jobs say."""

    def __init__(self) -> None:
        self.state = "running"
        self.closed = threading.Event()

    def status(self) -> dict[str, Any]:
        parts = [{"part": "speed", "state": self.state, "lag_events": 3, "lag_seconds": 0.5, "rate": 100.0}]
        return {"app": "shop", "parts": parts, "views": [{"view": "total", "lag_events": 2}], "streams": []}

    def run(self, job: dict[str, Any]) -> Iterator[dict[str, Any]]:
        try:
            yield {"step": "beginning"}
            if job["do"] == "refuse":
                raise UsageError("job: it is refused")
            if job["do"] == "break":
                raise RuntimeError("broken")
            yield {"result": job}
        finally:
            self.closed.set()


@pytest.fixture(scope="module")
def outbox() -> Outbox:
    return Outbox()


@pytest.fixture(scope="module")
def steward() -> Steward:
    return Steward()


@pytest.fixture(scope="module")
def server(store: SQLiteStore, outbox: Outbox, steward: Steward) -> Iterator[Server]:
    made = application(store, sender=outbox, control=steward, token=TOKEN, host="tarn.example", clock=lambda: NOW)
    running = serve(made, "127.0.0.1", 0)
    yield running
    running.stop()


@dataclass(frozen=True)
class Reply:
    status: int
    headers: http.client.HTTPMessage
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def error(self) -> str:
        return str(self.json["error"]["message"])


Call = Callable[..., Reply]


@pytest.fixture
def call(server: Server) -> Iterator[Call]:
    connection = http.client.HTTPConnection(server.host, server.port, timeout=20)

    def request(method: str, path: str, body: bytes | str | None = None, **headers: str) -> Reply:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, named)
        response = connection.getresponse()
        return Reply(response.status, response.headers, response.read())

    yield request
    connection.close()


def test_views_are_listed_with_all_that_a_question_needs(call: Call, events: list[Event]) -> None:
    views = {view["view"]: view for view in call("GET", "/views").json["views"]}
    assert list(views) == ["by_shop", "by_time", "total"]
    assert views["by_shop"]["keys"] == [{"name": "item", "type": "string"}, {"name": "shop", "type": "int"}]
    assert views["by_time"]["levels"] == ["minute", "hour", "day"]
    assert views["total"]["outputs"][1] == {"name": "pieces", "type": "decimal(38,0)"}
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
        ("/views/by_time?item=a&item=b", 400, "given twice"),
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
    from tests.serve.sample import feed

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


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
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


def test_the_server_tells_that_it_is_alive_and_ready(call: Call, steward: Steward) -> None:
    assert call("GET", "/healthz").json == {"alive": True}
    assert call("GET", "/readyz").json == {"ready": True, "parts": {"speed": "running"}}
    steward.state = "failed"
    reply = call("GET", "/readyz")
    steward.state = "running"
    assert (reply.status, reply.json["ready"]) == (503, False)


def test_figures_tell_requests_cuts_and_lags(call: Call, events: list[Event]) -> None:
    call("GET", "/views/total")
    text = call("GET", "/metrics").content.decode()
    assert 'tarnbeck_requests_total{method="GET",route="/views/{view}",status="200"}' in text
    assert 'tarnbeck_request_seconds_count{route="/views/{view}"}' in text
    assert f'tarnbeck_view_offset{{partition="0",view="total"}} {float(cut_after(events)[0])}' in text
    assert 'tarnbeck_part_lag_events{part="speed"} 3.0' in text
    assert 'tarnbeck_view_lag_events{view="total"} 2.0' in text
    assert 'tarnbeck_part_running{part="speed"} 1.0' in text


def test_the_api_describes_itself_completely(call: Call) -> None:
    from tarnbeck.serve.http import ROUTES

    document = call("GET", "/openapi.json").json
    described = {(path, method.upper()) for path, methods in document["paths"].items() for method in methods}
    served = {(path, method) for path, methods in ROUTES.items() for method in methods}
    assert described == served - {("/openapi.json", "GET"), ("/docs", "GET")}
    page = call("GET", "/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert all(path.encode() in page.content for path, _ in described)
    assert b"<script" not in page.content


@pytest.mark.parametrize("given", [None, "Bearer wrong", "Basic a token", TOKEN])
def test_control_needs_the_token(call: Call, given: str | None) -> None:
    headers = {} if given is None else {"Authorization": given}
    assert call("GET", "/control/status", **headers).status == 401
    assert call("POST", "/control/jobs", "{}", **headers).status == 401


def test_control_tells_the_status_and_runs_jobs(call: Call, steward: Steward) -> None:
    assert call("GET", "/control/status", Authorization=f"Bearer {TOKEN}").json["app"] == "shop"
    reply = call("POST", "/control/jobs", '{"do": "batch"}', Authorization=f"Bearer {TOKEN}")
    updates = [json.loads(line) for line in reply.content.splitlines()]
    assert updates == [{"step": "beginning"}, {"result": {"do": "batch"}}]
    assert steward.closed.is_set()


@pytest.mark.parametrize(
    ("job", "kind", "message"),
    [("refuse", "UsageError", "job: it is refused"), ("break", "TarnbeckError", "RuntimeError: broken")],
)
def test_a_job_that_fails_says_so_in_its_last_line(call: Call, job: str, kind: str, message: str) -> None:
    reply = call("POST", "/control/jobs", json.dumps({"do": job}), Authorization=f"Bearer {TOKEN}")
    assert json.loads(reply.content.splitlines()[-1]) == {"error": {"kind": kind, "message": message}}


@pytest.mark.parametrize("body", ["", "5", "[]"])
def test_a_job_that_is_no_object_is_refused(call: Call, body: str) -> None:
    assert call("POST", "/control/jobs", body, Authorization=f"Bearer {TOKEN}").status == 400


def test_without_a_node_there_is_no_control(store: SQLiteStore) -> None:
    running = serve(application(store), "127.0.0.1", 0)
    connection = http.client.HTTPConnection(running.host, running.port, timeout=20)
    connection.request("GET", "/control/status", headers={"Authorization": "Bearer None"})
    assert connection.getresponse().status == 404
    connection.close()
    running.stop()


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST:8787", 200),
        ("127.0.0.1:80", 200),
        ("[::1]:80", 200),
        ("tarn.example:80", 200),
        ("evil.example", 403),
        ("localhost.evil.example", 403),
        ("", 403),
        ("[evil", 403),
    ],
)
def test_only_the_servers_own_names_are_answered(call: Call, host: str, status: int) -> None:
    assert call("GET", "/healthz", Host=host).status == status


def test_pages_of_others_may_not_call(call: Call, server: Server, outbox: Outbox) -> None:
    outbox.lines.clear()
    reply = call("POST", "/streams/orders/events", "{}", Origin="https://evil.example")
    assert reply.status == 403
    assert outbox.lines == []
    own = f"http://{server.host}:{server.port}"
    assert call("GET", "/healthz", Origin=own).status == 200
    assert call("GET", "/healthz", Origin="null").status == 403


def test_every_response_carries_security_headers(call: Call) -> None:
    for path in ("/healthz", "/nothing", "/views/none", "/docs"):
        headers = call("GET", path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "access-control-allow-origin" not in headers


def test_a_port_that_is_taken_is_told(server: Server, store: SQLiteStore) -> None:
    from tarnbeck.errors import SetupError

    with pytest.raises(SetupError, match="can't listen on"):
        serve(application(store), server.host, server.port)


def test_a_stopped_server_leaves_no_thread_and_no_port(store: SQLiteStore) -> None:
    before = threading.active_count()
    running = serve(application(store), "127.0.0.1", 0)
    running.stop()
    running.stop()
    assert threading.active_count() <= before
    with pytest.raises(ConnectionRefusedError):
        http.client.HTTPConnection(running.host, running.port, timeout=5).connect()
