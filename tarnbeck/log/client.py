"""Kafka clients whose failures say why: what librdkafka would print to stderr goes into the error instead."""

from __future__ import annotations

import functools
import os
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from tarnbeck.errors import LogError
from tarnbeck.log.settings import LogSettings

TIMEOUT = 15.0
"""Seconds that one question to the log may take."""


class Reasons:
    """The last things that went wrong in a client's background threads."""

    def __init__(self) -> None:
        self._last: deque[KafkaError] = deque(maxlen=50)

    def note(self, error: KafkaError) -> None:
        self._last.append(error)

    def forget(self) -> None:
        self._last.clear()

    def __str__(self) -> str:
        """The newest one that says more than that all brokers are down."""
        told = [error.str() for error in self._last if error.code() != KafkaError._ALL_BROKERS_DOWN]
        return told[-1] if told else ""


def failure(settings: LogSettings, doing: str, error: KafkaException, reasons: Reasons) -> LogError:
    """The error for a user: what was tried, at which address, what Kafka answered, what to check."""
    lines = [f"log: can't {doing} at {settings.bootstrap}: {error.args[0].str()}"]
    if str(reasons):
        lines.append(f"  the client said: {reasons}")
    lines.append("  check that the broker runs there and that the security properties are its own")
    return LogError("\n".join(lines))


@contextmanager
def admin(settings: LogSettings, doing: str) -> Iterator[AdminClient]:
    """An admin client for one piece of work; `doing` completes "can't ..." when it fails."""
    reasons = Reasons()
    client: AdminClient | None = None
    try:
        client = AdminClient({**settings.client(), "error_cb": reasons.note})
        yield client
    except KafkaException as error:
        if client is not None:
            client.poll(0)
        raise failure(settings, doing, error, reasons) from error


@contextmanager
def shared_admin(settings: LogSettings, doing: str) -> Iterator[AdminClient]:
    """The same with the one client that this process keeps for a log: for small questions that are asked often."""
    client, reasons = _kept(settings, os.getpid())
    # What went wrong between two questions is no reason for what goes wrong in this one.
    client.poll(0)
    reasons.forget()
    try:
        yield client
    except KafkaException as error:
        client.poll(0)
        raise failure(settings, doing, error, reasons) from error


@functools.lru_cache(maxsize=4)
def _kept(settings: LogSettings, process: int) -> tuple[AdminClient, Reasons]:
    """Children of a process can't use its clients, and one that lives long must find a broker again soon."""
    reasons = Reasons()
    return AdminClient({**settings.client(), "error_cb": reasons.note, "reconnect.backoff.max.ms": 1000}), reasons
