"""What every endpoint works with, and how it reads a body, works beside the event loop and replies."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from tarnbeck.log.settings import LogSettings
from tarnbeck.serve.control import Control
from tarnbeck.serve.events import Senders
from tarnbeck.serve.live import Subscribers
from tarnbeck.serve.metrics import Metrics
from tarnbeck.serve.render import JSON, to_json
from tarnbeck.store.protocol import Store

BODY_SECONDS = 30
"""How long the body of a request may take to arrive."""
LOG_SECONDS = 5.0
"""How long a look at the log may take: a broker that does not answer must not keep others from looking."""
SMALL_BODY = 256 * 1024


@dataclass(frozen=True)
class Service:
    """The store, and what stands beside it: the log, the node, those who follow."""

    store: Store
    log: LogSettings | None
    sender: Senders | None
    control: Control | None
    token: str | None
    clock: Callable[[], int]
    metrics: Metrics
    sql_limiter: anyio.CapacityLimiter
    log_limiter: anyio.CapacityLimiter
    live: Subscribers


Handler = Callable[[Service, Request], Awaitable[Response]]


def reply(found: Any, status: int = 200) -> Response:
    return Response(to_json(found), status, media_type=JSON)


async def in_thread(work: Callable[..., Any], *given: Any, limiter: anyio.CapacityLimiter | None = None) -> Any:
    return await anyio.to_thread.run_sync(functools.partial(work, *given), limiter=limiter)


async def body_of(request: Request, most: int) -> bytes:
    """The body of a request, refused as soon as it is too large or too slow."""
    announced = request.headers.get("content-length", "0")
    too_large = HTTPException(413, f"the body is too large\n  expected at most {most:,} bytes")
    if announced.isdigit() and int(announced) > most:
        raise too_large
    found = bytearray()
    try:
        with anyio.fail_after(BODY_SECONDS):
            async for chunk in request.stream():
                found += chunk
                if len(found) > most:
                    raise too_large
    except TimeoutError:
        raise HTTPException(408, f"the body did not arrive within {BODY_SECONDS} s") from None
    return bytes(found)
