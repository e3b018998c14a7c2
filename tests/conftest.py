"""Fixtures that tests share: one broker and one Spark session per run, and names that no other test has."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from tests.effort import tries

if TYPE_CHECKING:
    from tarnbeck.log.broker import Broker

# Java's second compiler pays off after minutes, and a Java machine of a test lives for one: what it would take from two
# cores is most of what Spark takes. Collecting garbage beside the work takes a tenth more than doing so in between.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# How long an example takes says how busy the machine is, not whether the code is right.
hypothesis.settings.register_profile("tarnbeck", deadline=None, max_examples=tries(100))
hypothesis.settings.load_profile("tarnbeck")


LONG_FIRST = ("crash", "demo", "spark")
"""Marks of files that take long, the longest first: what is short fills the rest of the time of two workers."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The order is random, but within files of one kind only."""
    items.sort(key=lambda item: next((n for n, mark in enumerate(LONG_FIRST) if item.get_closest_marker(mark)), 9))


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """An embedded broker that all tests of a run share; topics are told apart by their names."""
    from tarnbeck.log.broker import start

    started = start(tmp_path_factory.mktemp("broker"))
    yield started
    started.stop()


@pytest.fixture(scope="session")
def unique() -> Callable[[str], str]:
    """Makes a name that no other test, and no former run, has used."""
    return lambda prefix: f"{prefix}-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def topic_name(unique: Callable[[str], str]) -> str:
    return unique("topic")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The one Spark session of a run, in UTC."""
    from tarnbeck.spark.session import session

    started = session("tests", folder=tmp_path_factory.mktemp("spark"), master="local[2]")
    yield started
    started.stop()
