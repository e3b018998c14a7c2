"""Fixtures of the serving tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tarnbeck as tb
from tarnbeck.store.sqlite import SQLiteStore
from tests.serve.sample import Event, filled, random_events, shop


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
