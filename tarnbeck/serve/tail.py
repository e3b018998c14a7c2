"""The newest events of a stream, for people who look at it: a bounded read of the log's end."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tarnbeck.cut import Cut
from tarnbeck.errors import LogError, UsageError, unknown
from tarnbeck.log import topics
from tarnbeck.log.events import Event, as_dict, events_of
from tarnbeck.log.follow import follow
from tarnbeck.log.settings import LogSettings
from tarnbeck.serve.answer import MissingError
from tarnbeck.serve.service import Service, in_thread, reply
from tarnbeck.store.definitions import stream_of

READERS = 4
"""Reads of the log at the same time."""
USUAL, MOST = 100, 500
"""Events of one reply."""
BYTES = 2 << 20
"""All values of one reply together; what is older is left out."""


def newest(log: LogSettings, topic: str, after: Cut | None, limit: int) -> dict[str, Any]:
    """The newest events of a topic, those behind a cut if one is given, and where the next read goes on."""
    first, end = topics.beginning(log, topic), topics.end(log, topic)
    known = first if after is None else Cut.of(end.topic, dict(after.offsets)).advance(first).meet(end)
    begin = Cut.of(end.topic, {partition: max(known[partition], offset - limit) for partition, offset in end})
    found: list[Event] = []
    for record in follow(log, topic, begin, until=end):
        found += events_of(record)
    found.sort(key=lambda event: event.record.timestamp)
    shown, room = [], BYTES
    for event in reversed(found[-limit:]):
        room -= len(event.value or b"")
        if room < 0:
            break
        shown.append(as_dict(event))
    skipped = known.span_to(begin).records + len(found) - len(shown)
    return {"events": shown[::-1], "skipped": 0 if after is None else skipped, "next": str(end)}


async def events(service: Service, request: Request) -> Response:
    name = request.path_params["stream"]
    known = await in_thread(service.store.streams)
    if name not in known:
        raise MissingError(unknown("events", "stream", name, known, "the application"))
    if service.log is None:
        raise LogError("events: this server has no log to read\n  ask the node that runs the application")
    given = request.query_params
    for parameter in given:
        if parameter not in ("after", "limit"):
            raise UsageError(unknown("events", "parameter", parameter, ("after", "limit"), "it"))
    after = _after(given.get("after"))
    topic = stream_of(known[name]).topic
    found = await in_thread(newest, service.log, topic, after, _limit(given.get("limit")), limiter=service.log_limiter)
    return reply({"stream": name, **found})


def _limit(given: str | None) -> int:
    if given is None:
        return USUAL
    if not given.isdecimal() or not 1 <= int(given) <= MOST:
        raise UsageError(f"events: bad limit {given!r}\n  expected 1 to {MOST}")
    return int(given)


def _after(given: str | None) -> Cut | None:
    if given is None:
        return None
    try:
        return Cut.parse("", given)
    except ValueError:
        raise UsageError(f"events: bad cut {given!r}\n  expected partition:offset of each, such as '0:5 1:7'") from None
