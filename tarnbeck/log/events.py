"""Records taken apart into events, as people look at them."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tarnbeck.log.follow import Record
from tarnbeck.schema import packs
from tarnbeck.schema.packs import Kind, kind_of
from tarnbeck.schema.strict import Reject


@dataclass(frozen=True)
class Event:
    """One event of a record, or the one that it is."""

    record: Record
    index: int
    value: bytes | None
    packed: bool


def events_of(record: Record) -> list[Event]:
    """The events of a record, in their order."""
    if kind_of(record.content_type) is Kind.PLAIN or record.value is None:
        return [Event(record, 0, record.value, packed=False)]
    return [Event(record, index, value, packed=True) for index, value in enumerate(record.events())]


def backwards(record: Record, at_once: int) -> tuple[int, Iterator[Event]]:
    """How many events a record holds, and they, the last one first, taken apart about so many bytes at a time."""
    if kind_of(record.content_type) is Kind.PLAIN or record.value is None:
        return 1, iter(events_of(record))
    try:
        count, values = packs.backwards(record.value, record.content_type, at_once)
    except Reject:
        return 1, iter((Event(record, 0, record.value, packed=True),))
    return count, (Event(record, count - place, value, packed=True) for place, value in enumerate(values, 1))


def as_dict(event: Event) -> dict[str, Any]:
    """One event as JSON: bytes that are not text are told in base64."""
    record = event.record
    found: dict[str, Any] = {
        "partition": record.partition,
        "offset": record.offset,
        "index": event.index,
        "received": record.timestamp,
    }
    for name, raw in (("key", record.key), ("value", event.value)):
        try:
            found[name] = None if raw is None else raw.decode()
        except UnicodeDecodeError:
            found[f"{name}_base64"] = base64.b64encode(raw or b"").decode()
    return found
