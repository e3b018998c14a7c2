"""What is measured: one stream of plain JSON events and the views over it."""

from __future__ import annotations

from collections.abc import Collection

import tarnbeck as tb
from tarnbeck.schema.stream import Stream

SCHEMA = "time timestamp, key string, value double, seq bigint, side string"
"""As tarnbeck and as `from_json` read it."""
KEYS = 1000
PARTITIONS = 2
SPREAD_SECONDS = 3600
"""Event times of the backlog are spread over this long, so a one-minute view has sixty windows per key."""

STREAM, MINUTES, LATEST, SLIDING = "events", "minutes", "latest", "sliding"


def declare(topic: str, views: Collection[str] = (MINUTES, LATEST)) -> tb.App:
    """The application, with the views that a figure needs."""
    app = tb.App("bench")
    events = app.stream(STREAM, SCHEMA, time="time", key="key", topic=topic, partitions=PARTITIONS)
    if MINUTES in views:
        value = {
            "events": tb.count(),
            "total": tb.sum("value"),
            "least": tb.min("value"),
            "most": tb.max("value"),
        }
        app.view(MINUTES, events, by="key", window=tb.tumbling("1 minute"), select=value)
    if LATEST in views:
        app.view(LATEST, events, by="key", select={"seq": tb.max("seq")})
    if SLIDING in views:
        window = tb.sliding("10 minutes", every="10 seconds")
        app.view(SLIDING, events, by="key", window=window, select={"events": tb.count(), "total": tb.sum("value")})
    return app


def stream(topic: str) -> Stream:
    return declare(topic, ()).streams[STREAM]


def key_of(number: int) -> str:
    return f"key-{number:04d}"


def partition_of(number: int) -> int:
    """A key stays in one partition, as with any producer that sends by key."""
    return number % PARTITIONS
