"""The newest events of a stream, for people who look at it: a bounded read of the log's end."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tarnbeck.cut import Cut
from tarnbeck.errors import LogError, UsageError, unknown
from tarnbeck.log import look
from tarnbeck.log.events import as_dict
from tarnbeck.log.look import Bounds
from tarnbeck.log.settings import LogSettings
from tarnbeck.serve.answer import MissingError
from tarnbeck.serve.service import LOG_SECONDS, Service, in_thread, reply
from tarnbeck.store.definitions import stream_of

READERS = 4
"""Reads of the log at the same time."""
USUAL, MOST = 100, 500
"""Events of one reply."""
BYTES = 2 << 20
"""All values of one reply together; what is older is left out."""


def newest(log: LogSettings, topic: str, after: Cut | None, limit: int) -> dict[str, Any]:
    """The newest events of a topic, those behind a cut if one is given, and where the next read goes on."""
    found = look.newest(log, topic, after, Bounds(limit, BYTES, LOG_SECONDS))
    events = [as_dict(event) for event in found.events]
    return {"events": events, "skipped": 0 if after is None else found.skipped, "next": str(found.end)}


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
