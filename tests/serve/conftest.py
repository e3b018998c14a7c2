"""Fixtures of the serving tests."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from pathlib import Path

import pytest

import tarnbeck as tb
from tarnbeck.serve.http import Server, application, serve
from tarnbeck.store.sqlite import SQLiteStore
from tests.serve.market import Listen, Shop
from tests.serve.sample import NOW, Event, filled, random_events, shop
from tests.serve.web import TOKEN, Call, Listener, Outbox, Reply, Steward


@pytest.fixture(scope="session")
def app() -> tb.App:
    return shop()


@pytest.fixture(scope="session")
def events() -> list[Event]:
    return random_events(900)


@pytest.fixture(scope="session")
def store(app: tb.App, events: list[Event], tmp_path_factory: pytest.TempPathFactory) -> Iterator[SQLiteStore]:
    """A store that tests only read."""
    opened = filled(tmp_path_factory.mktemp("serve") / "store", app, events)
    yield opened
    opened.close()


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


@pytest.fixture
def market(tmp_path: Path) -> Iterator[Shop]:
    made = Shop(tmp_path, shop())
    yield made
    made.server.stop()
    made.store.close()


@pytest.fixture
def listen(market: Shop) -> Iterator[Listen]:
    opened: list[Listener] = []

    def start(path: str, last_id: str | None = None, buffer: int | None = None) -> Listener:
        opened.append(Listener(market.server, path, last_id, buffer))
        return opened[-1]

    yield start
    for each in opened:
        each.close()
