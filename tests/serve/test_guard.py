"""Who may ask, what is told of the server, and how it ends."""

from __future__ import annotations

import http.client
import json
import threading

import pytest

from tarnbeck.errors import SetupError
from tarnbeck.serve.http import ROUTES, Server, application, serve
from tarnbeck.store.sqlite import SQLiteStore
from tests.serve.sample import Event, cut_after
from tests.serve.web import TOKEN, Call, Outbox, Steward


def test_the_server_tells_that_it_is_alive_and_ready(call: Call, steward: Steward) -> None:
    assert call("GET", "/healthz").json == {"alive": True}
    assert call("GET", "/readyz").json == {"ready": True, "parts": {"speed": "running"}}
    steward.state = "done"
    assert call("GET", "/readyz").status == 200, "a part that has nothing left to do is no obstacle"
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
    assert 'tarnbeck_part_lag_records{part="speed"} 3.0' in text
    assert 'tarnbeck_view_lag_records{view="total"} 2.0' in text
    assert 'tarnbeck_part_running{part="speed"} 1.0' in text


def test_the_api_describes_itself_completely(call: Call) -> None:
    document = call("GET", "/openapi.json").json
    described = {(path, method.upper()) for path, methods in document["paths"].items() for method in methods}
    served = {(path, method) for path, methods in ROUTES.items() for method in methods}
    assert described == served - {(path, "GET") for path in ("/openapi.json", "/docs", "/", "/page/{file}")}
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
