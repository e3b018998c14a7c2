"""The system as it is, for people who look at it: how data flows, how far each part is, which versions there are."""

from __future__ import annotations

from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from tarnbeck.errors import unknown
from tarnbeck.log import topics
from tarnbeck.log.settings import LogSettings
from tarnbeck.serve import catalog
from tarnbeck.serve.answer import MissingError
from tarnbeck.serve.control import Control
from tarnbeck.serve.service import LOG_SECONDS, Service, in_thread, reply
from tarnbeck.store.definitions import stream_of
from tarnbeck.store.protocol import Store


async def flow(service: Service, request: Request) -> Response:
    """Every part and how far it is, and which stream is made of which."""
    return reply(await in_thread(_flow, service.store, _node(service)))


def _flow(store: Store, node: Control) -> dict[str, Any]:
    found = node.status()
    made_of = {name: stream_of(state).derived for name, state in store.streams().items()}
    for each in found["streams"]:
        derived = made_of.get(each["stream"])
        each["source"] = None if derived is None else derived.source
    return found


async def versions(service: Service, request: Request) -> Response:
    """The versions of every view, and when they were switched."""
    return reply(await in_thread(_versions, _node(service)))


def _versions(node: Control) -> Any:
    (last,) = node.run({"do": "versions"})
    return last["result"]


async def stream(service: Service, request: Request) -> Response:
    """One stream with its schema, and where each partition of its topic begins and ends."""
    name = request.path_params["stream"]
    return reply(await in_thread(_stream, service.store, service.log, name, limiter=service.log_limiter))


def _stream(store: Store, log: LogSettings | None, name: str) -> dict[str, Any]:
    known = store.streams()
    if name not in known:
        raise MissingError(unknown("stream", "stream", name, known, "the application"))
    facts = next(each for each in catalog.streams(store) if each["stream"] == name)
    if log is None:
        return facts
    topic, lake = stream_of(known[name]).topic, known[name].lake_cut
    first, end = topics.ends(log, topic, LOG_SECONDS)
    partitions = [
        {"partition": partition, "first": first[partition], "end": end[partition], "lake": lake[partition]}
        for partition in range(facts["partitions"])
    ]
    return facts | {"places": partitions}


def _node(service: Service) -> Control:
    if service.control is None:
        raise HTTPException(404, "this server runs no node\n  ask the node that runs the application")
    return service.control
