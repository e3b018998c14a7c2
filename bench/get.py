"""Figure: one key and one hour of minutes over HTTP, against a handler of the same server that returns a constant."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bench.clients import Load, load
from bench.declared import KEYS, MINUTES, key_of
from bench.feed import Feed
from bench.figure import Figure, Target, percentile
from bench.place import Place
from tarnbeck.node.node import Node
from tarnbeck.serve.http import application, serve
from tarnbeck.serve.render import JSON

TARGET = Target(3.0, least=False)
CONSTANT, ANY, SAME = "a constant", "any of 1,000 keys", "the same key again and again"
PATHS = {
    CONSTANT: ("/constant",),
    ANY: tuple(f"/views/{MINUTES}?key={key_of(number)}&last=1h" for number in range(KEYS)),
    SAME: (f"/views/{MINUTES}?key={key_of(1)}&last=1h",),
}
"""An answer is remembered until events come in, so the same key again and again is the easier question."""
CROWDS = (1, 8)
SECONDS = 8.0


@dataclass(frozen=True)
class Requests:
    """How a crowd of clients fared."""

    p50: float
    p99: float
    per_second: float

    def __str__(self) -> str:
        return f"p50 {self.p50:.2f} ms, p99 {self.p99:.2f} ms, {self.per_second:,.0f}/s"


def figures(place: Place) -> Iterator[Figure]:
    """1 and 8 clients in processes of their own, keep-alive, while 1,000 events/s flow in."""
    seconds = min(SECONDS, place.seconds)
    with place.node() as node, _served(node) as (address, size), Feed(place.log, place.topic):
        found = {(what, clients): _best(place, address, what, clients, seconds) for clients in CROWDS for what in PATHS}
    ours, peer = found[ANY, 1], found[CONSTANT, 1]
    yield Figure(
        "get",
        "GET of one key and one hour of minutes while events flow in, against a constant of the same size",
        f"{ours.p50:.2f} ms (p99 {ours.p99:.2f})",
        f"{peer.p50:.2f} ms (p99 {peer.p99:.2f})",
        ours.p50 / peer.p50,
        TARGET,
        notes=(
            f"an answer has {size:,} bytes",
            *(
                f"{clients} at once, {what}: {requests}, p50 {requests.p50 / found[CONSTANT, clients].p50:.2f}x"
                for (what, clients), requests in found.items()
            ),
        ),
    )


@contextmanager
def _served(node: Node) -> Iterator[tuple[str, int]]:
    """The node's own API, with a constant of the size of its answer beside it: address and size."""
    body = b""

    async def constant(request: Request) -> Response:
        return Response(body, media_type=JSON)

    api = application(node.store, log=node.log)
    api.router.routes.append(Route(PATHS[CONSTANT][0], constant))
    server = serve(api, "127.0.0.1", 0)
    try:
        address = urlsplit(server.url).netloc
        body = _fetched(address, *PATHS[SAME])
        yield address, len(body)
    finally:
        server.stop()


def _fetched(address: str, path: str) -> bytes:
    connection = http.client.HTTPConnection(address, timeout=30)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read()
    finally:
        connection.close()
    assert response.status == 200, f"{path}: {response.status} {body[:200]!r}"
    return body


def _best(place: Place, address: str, what: str, clients: int, seconds: float) -> Requests:
    asked = Load(address, PATHS[what], seconds)
    found = min((_requests(load(asked, clients), seconds) for _ in range(place.repeats)), key=lambda each: each.p50)
    place.tell(f"{clients} at once, {what}: {found}")
    return found


def _requests(milliseconds: list[float], seconds: float) -> Requests:
    return Requests(percentile(milliseconds, 50), percentile(milliseconds, 99), len(milliseconds) / seconds)
