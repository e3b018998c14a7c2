"""Updates on their way between processes: server-sent events, and what a client reads out of them."""

from __future__ import annotations

import base64
import datetime
import decimal
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tarnbeck.schema import types
from tarnbeck.schema.types import Array, Decimal, Map, Struct, Type
from tarnbeck.serve.answer import Answer
from tarnbeck.serve.changes import Update
from tarnbeck.serve.memo import Row
from tarnbeck.serve.render import exact, to_json
from tarnbeck.serve.wire import Facts, cut_from_json, facts, type_of

KIND = "text/event-stream"
RETRY = b"retry: 1000\n\n"
"""After how many milliseconds a client whose connection broke comes again."""
FAILURE = "failure"
"""The kind of event that tells why a stream ends; browsers give `error` a meaning of its own."""


def frame(update: Update) -> bytes:
    """An update as one event; its id is the version and the cut."""
    names = update.names
    told = facts(update.changed) | {
        "keys": update.keys,
        "windowed": update.windowed,
        "closed": update.closed,
        "reset": update.reset,
        "rows": [
            {"timing": timing, "row": dict(zip(names, row, strict=True))}
            for row, timing in zip(exact(update.changed), update.timings, strict=True)
        ],
        "removed": [dict(zip(names, place, strict=False)) for place in update.removed],
    }
    if not update.reset:
        del told["columns"]
    return b"id: " + update.id.encode() + b"\ndata: " + to_json(told) + b"\n\n"


def beat(id_: str | None) -> bytes:
    """A sign of life that no one is told of; with an id, a client that comes again goes on from there."""
    return b":\n\n" if id_ is None else f":\nid: {id_}\n\n".encode()


def failure(told: Mapping[str, str]) -> bytes:
    return f"event: {FAILURE}\ndata: ".encode() + to_json({"error": told}) + b"\n\n"


@dataclass(frozen=True)
class Event:
    """One block of lines; without data it is a sign of life."""

    id: str | None
    kind: str
    data: str


def events(lines: Iterable[bytes]) -> Iterator[Event]:
    """The events that lines tell, each when the empty line behind it has come.

    >>> list(events([b"id: 1\\n", b"data: {}\\n", b"\\n", b":\\n", b"\\n", b"data: cut off"]))
    [Event(id='1', kind='message', data='{}'), Event(id=None, kind='message', data='')]
    """
    found: dict[str, str] = {}
    for line in lines:
        name, _, value = line.decode().rstrip("\r\n").partition(":")
        if line.strip():
            found[name] = value.removeprefix(" ")
        else:
            yield Event(found.get("id"), found.get("event", "message"), found.get("data", ""))
            found = {}


def update_of(data: str, before: Update | None) -> Update:
    """The update that an event's data tell; its columns are those of the one before unless it says others."""
    told: Facts = json.loads(data)
    if "columns" in told:
        columns = tuple((each["name"], type_of(each["type"])) for each in told["columns"])
    else:
        columns = before.changed.columns if before is not None else ()
    changed = Answer(
        told["view"],
        told["version"],
        columns,
        [_row(each["row"], columns) for each in told["rows"]],
        cut_from_json(told["cut"]),
        cut_from_json(told["origin"]),
        told["level"],
        told["since"],
        told["until"],
        told["truncated"],
        told["against"],
        told["kept_since"],
    )
    removed = [_row(each, columns[: told["keys"]]) for each in told["removed"]]
    timings = [each["timing"] for each in told["rows"]]
    closed = _value(told["closed"], types.TIMESTAMP)
    return Update(changed, timings, removed, told["reset"], told["keys"], told["windowed"], closed)


def _row(told: Mapping[str, Any], columns: Iterable[tuple[str, Type]]) -> Row:
    return tuple(_value(told[name], type_) for name, type_ in columns)


def _value(told: Any, type_: Type) -> Any:
    """A value as Python has it, from what `to_json` made of it."""
    if told is None:
        return None
    if isinstance(type_, Array):
        return [_value(each, type_.element) for each in told]
    if isinstance(type_, Struct):
        return {column.name: _value(told[column.name], column.type) for column in type_.columns}
    if isinstance(type_, Map):
        return {key: _value(each, type_.value) for key, each in told.items()}
    return decimal.Decimal(told) if isinstance(type_, Decimal) else _READ.get(type_, _same)(told)


def _same(told: Any) -> Any:
    return told


_READ: dict[Type, Callable[[Any], Any]] = {
    types.TIMESTAMP: datetime.datetime.fromisoformat,
    types.DATE: datetime.date.fromisoformat,
    types.BINARY: base64.b64decode,
    types.DOUBLE: float,
}
