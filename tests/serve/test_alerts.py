"""Alerts over HTTP: what there is to ask, and the figures of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import generate_latest

import tarnbeck as tb
from tarnbeck.serve.http import Server, application, serve
from tarnbeck.serve.live import Subscribers
from tarnbeck.serve.metrics import Metrics
from tests.alert.shop import Watched, busy
from tests.serve.web import Reply


@pytest.fixture
def shop(tmp_path: Path) -> Watched:
    made = Watched(tmp_path, lambda app: busy(app, (tb.to_stream("alerts"), tb.webhook("https://a.b/SECRET"))))
    made.order("pear", 20)
    made.order("plum", 30)
    made.tick()
    made.store.alerts.tried(1, "stream alerts", None, over=False)
    return made


@pytest.fixture
def server(shop: Watched) -> Iterator[Server]:
    running = serve(application(shop.store), "127.0.0.1", 0)
    yield running
    running.stop()


def get(server: Server, path: str) -> Reply:
    import http.client

    connection = http.client.HTTPConnection(server.host, server.port, timeout=20)
    connection.request("GET", path)
    response = connection.getresponse()
    found = Reply(response.status, response.headers, response.read())
    connection.close()
    return found


def test_rules_their_keys_and_the_history_can_be_asked_for(server: Server) -> None:
    reply = get(server, "/alerts")
    (rule,), (last, first) = reply.json["rules"], reply.json["history"]
    assert (rule["rule"], rule["state"], rule["when"], rule["per"]) == ("busy", "firing", "pieces > 10", "minute")
    assert [(key["keys"], key["times"]) for key in rule["keys"]] == [({"item": "pear"}, 1), ({"item": "plum"}, 1)]
    assert (last["keys"], first["keys"]) == ({"item": "plum"}, {"item": "pear"})
    assert [(each["destination"], each["state"]) for each in first["deliveries"]] == [
        ("stream alerts", "sent"),
        ("webhook a.b", "waiting"),
    ]
    assert b"SECRET" not in reply.content


def test_the_history_is_bounded(server: Server) -> None:
    assert len(get(server, "/alerts?limit=1").json["history"]) == 1
    for wrong in ("x", "-1", "1001"):
        reply = get(server, f"/alerts?limit={wrong}")
        assert (reply.status, reply.error[:17]) == (400, "alerts: bad limit")


def test_figures_tell_what_fires_and_what_waits(shop: Watched) -> None:
    metrics = Metrics(shop.store, None, Subscribers(shop.store, shop.clock))
    text = generate_latest(metrics.registry).decode()
    assert 'tarnbeck_alert_keys{rule="busy",state="firing"} 2.0' in text
    assert 'tarnbeck_alert_keys{rule="busy",state="pending"} 0.0' in text
    assert 'tarnbeck_alert_notices_waiting{destination="webhook a.b"} 2.0' in text
    assert 'tarnbeck_alert_deliveries_total{destination="stream alerts",outcome="sent"} 1.0' in text


def test_bytes_that_come_in_and_go_out_are_counted(server: Server) -> None:
    before = len(get(server, "/alerts").content)
    text = get(server, "/metrics").content.decode()
    (line,) = [line for line in text.splitlines() if line.startswith('tarnbeck_http_bytes_total{direction="out"}')]
    assert float(line.split()[-1]) >= before
