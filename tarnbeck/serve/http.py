"""The HTTP API: views, SQL, streams, health, figures, and the control of the node."""

from __future__ import annotations

import functools
import hmac
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import anyio
import orjson
from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from tarnbeck.errors import LogError, TarnbeckError, UsageError, unknown
from tarnbeck.log.settings import LogSettings
from tarnbeck.schema.packs import NDJSON
from tarnbeck.serve import alerts, catalog, events, failures, openapi, overview, page, parameters, render, sql, tail
from tarnbeck.serve.answer import Answer, MissingError, answers, quick
from tarnbeck.serve.clock import now
from tarnbeck.serve.control import Control
from tarnbeck.serve.events import Senders
from tarnbeck.serve.guard import Guard
from tarnbeck.serve.live import Stream, Subscribers
from tarnbeck.serve.metrics import Metrics, Traffic
from tarnbeck.serve.render import JSON, to_json
from tarnbeck.serve.server import Server, serve
from tarnbeck.serve.service import SMALL_BODY, Handler, Service, body_of, in_thread, reply
from tarnbeck.serve.wire import cut_to_json
from tarnbeck.store.definitions import stream_of
from tarnbeck.store.protocol import Store

__all__ = ["Server", "application", "serve"]

_AT_ONCE = 2
"""SQL queries that run at the same time: each may use much memory and several cores."""

_log = logging.getLogger(__name__)


def application(
    store: Store,
    *,
    log: LogSettings | None = None,
    sender: Senders | None = None,
    control: Control | None = None,
    token: str | None = None,
    host: str = "localhost",
    clock: Callable[[], int] = now,
) -> Starlette:
    """The API over a store; `log` or `sender` take events in, `control` is for those who have the `token`."""
    if sender is None and log is not None:
        sender = events.senders(log)
    limiter = anyio.CapacityLimiter(_AT_ONCE)
    live = Subscribers(store, clock)
    reading = anyio.CapacityLimiter(tail.READERS)
    metrics = Metrics(store, control, live)
    service = Service(store, log, sender, control, token, clock, metrics, limiter, reading, live)
    routes = [
        Route(path, _endpoint(service, path, handler), methods=[method])
        for path, methods in ROUTES.items()
        for method, handler in methods.items()
    ]
    made = Starlette(
        routes=routes,
        middleware=[Middleware(Traffic, metrics=metrics), Middleware(Guard, names=[host])],
        exception_handlers={HTTPException: _refused, 500: _broken},
    )
    made.state.live = live
    return made


def _endpoint(service: Service, path: str, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """The handler with its errors told as JSON and its requests counted."""

    async def endpoint(request: Request) -> Response:
        began, status = time.perf_counter(), 500
        try:
            response = await handler(service, request)
            status = response.status_code
        except TarnbeckError as error:
            status = 413 if isinstance(error, events.TooLargeError) else failures.status(error)
            response = reply({"error": failures.told(error)}, status)
        except HTTPException as error:
            status = error.status_code
            raise
        finally:
            service.metrics.observe(path, request.method, status, time.perf_counter() - began)
        return response

    return endpoint


async def _refused(request: Request, error: Exception) -> Response:
    status, detail, headers = 500, str(error), None
    if isinstance(error, HTTPException):
        status, detail, headers = error.status_code, error.detail, error.headers
    content = to_json({"error": {"kind": "UsageError", "message": detail}})
    return Response(content, status, headers=headers, media_type=JSON)


async def _broken(request: Request, error: Exception) -> Response:
    """Starlette raises the error again after this, so the server logs it whole."""
    return reply({"error": {"kind": "TarnbeckError", "message": "internal error: see the server's log"}}, 500)


def _kind(request: Request) -> str:
    header = request.headers.get("accept", "")
    kind = render.accepted(header)
    if kind is None:
        raise HTTPException(406, f"Accept: none of {header!r}\n  expected one of: {', '.join(render.KINDS)}")
    return kind


async def _views(service: Service, request: Request) -> Response:
    return reply({"views": await in_thread(catalog.views, service.store)})


async def _view(service: Service, request: Request) -> Response:
    kind, now = _kind(request), service.clock()
    asked = parameters.read(request.path_params["view"], request.query_params.multi_items(), now)
    try:
        found = quick(service.store, asked.question, now) if asked.wait is None else None
        if found is not None:
            return _answered(found, kind)
        (found,) = await in_thread(functools.partial(answers, service.store, [asked.question], same_cut=asked.wait))
    except UsageError:
        await in_thread(parameters.check, service.store, asked.question)
        raise
    return await in_thread(_answered, found, kind)  # type: ignore[no-any-return]


async def _live(service: Service, request: Request) -> Response:
    view, given = request.path_params["view"], request.query_params.multi_items()
    asked = parameters.read_live(view, given, service.clock())
    subscription = service.live.join(asked, request.headers.get("last-event-id"))
    try:
        return Stream(subscription, await subscription.first())
    except BaseException as error:
        subscription.close()
        if isinstance(error, UsageError):
            await in_thread(parameters.check, service.store, asked.question(service.clock()))
        raise


def _answered(found: Answer, kind: str) -> Response:
    headers = {"Tarnbeck-Cut": found.cut.to_json(), "Vary": "Accept"}
    if found.kept_since is not None:
        headers["Tarnbeck-Kept-Since"] = render.moment(found.kept_since)
    return Response(render.answer(found, kind), media_type=kind, headers=headers)


async def _sql(service: Service, request: Request) -> Response:
    kind = _kind(request)
    body = await body_of(request, SMALL_BODY)
    asked = parameters.read_sql(body, request.headers.get("content-type", ""))
    query = functools.partial(sql.query, service.store, asked.text, limit=asked.limit, same_cut=asked.wait)
    found = await in_thread(query, limiter=service.sql_limiter)
    cuts = {view: cut_to_json(cut) for view, cut in found.cuts.items()}
    headers = {"Tarnbeck-Cuts": to_json(cuts).decode(), "Vary": "Accept"}
    return Response(await in_thread(render.sql_answer, found, kind), media_type=kind, headers=headers)


async def _streams(service: Service, request: Request) -> Response:
    return reply({"streams": await in_thread(catalog.streams, service.store)})


async def _events(service: Service, request: Request) -> Response:
    name = request.path_params["stream"]
    known = await in_thread(service.store.streams)
    if name not in known:
        raise MissingError(unknown("events", "stream", name, known, "the application"))
    if service.sender is None:
        raise LogError("events: this server has no log to send to\n  ask the node that runs the application")
    body = await body_of(request, events.BIGGEST)
    hand = await in_thread(events.read, body, request.headers.get("content-type", ""))
    sender = await in_thread(service.sender, stream_of(known[name]))
    sent = await in_thread(events.send, sender, hand)
    if sent["failed"]:
        some = LogError(f"events: the log did not take all of them\n  acknowledged: {sent['acknowledged']}")
        return reply(sent | {"error": failures.told(some)}, failures.status(some))
    return reply(sent)


async def _alerts(service: Service, request: Request) -> Response:
    most = alerts.limit(request.query_params.get("limit"))
    return reply(await in_thread(alerts.facts, service.store, most))


async def _healthz(service: Service, request: Request) -> Response:
    return reply({"alive": True})


async def _readyz(service: Service, request: Request) -> Response:
    """Ready when the store can be read, the log answers and every part runs."""
    await in_thread(service.store.aliases)
    parts = {}
    if service.control is not None:
        status = await in_thread(service.control.status)
        parts = {part["part"]: part["state"] for part in status["parts"]}
    idle = [part for part, state in parts.items() if state not in ("running", "waiting", "done")]
    return reply({"ready": not idle, "parts": parts}, 503 if idle else 200)


async def _metrics(service: Service, request: Request) -> Response:
    text = await in_thread(generate_latest, service.metrics.registry)
    return Response(text, media_type=CONTENT_TYPE_LATEST)


async def _openapi(service: Service, request: Request) -> Response:
    return reply(openapi.document())


async def _docs(service: Service, request: Request) -> Response:
    return Response(openapi.page(), media_type="text/html", headers={"Content-Security-Policy": openapi.POLICY})


def _controlled(service: Service, request: Request) -> Control:
    """The node, for those who have its token."""
    if service.control is None or service.token is None:
        raise HTTPException(404, "this server controls no node")
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), service.token.encode()):
        raise HTTPException(401, "the token is missing or wrong", {"WWW-Authenticate": "Bearer"})
    return service.control


async def _status(service: Service, request: Request) -> Response:
    return reply(await in_thread(_controlled(service, request).status))


async def _jobs(service: Service, request: Request) -> Response:
    control = _controlled(service, request)
    try:
        job = orjson.loads(await body_of(request, SMALL_BODY))
    except orjson.JSONDecodeError as wrong:
        raise UsageError(f"job: the body is not JSON: {wrong}") from None
    if not isinstance(job, dict):
        raise UsageError('job: expected a JSON object, such as {"do": "batch", "views": []}')
    return StreamingResponse(_updates(control, job), media_type=NDJSON)


async def _updates(control: Control, job: dict[str, Any]) -> AsyncIterator[bytes]:
    """A line per update; once the response has begun, an error can only be its last line."""
    updates = control.run(job)
    try:
        while (update := await in_thread(_next, updates)) is not None:
            yield to_json(update) + b"\n"
    finally:
        close = getattr(updates, "close", None)
        if close is not None:
            with anyio.CancelScope(shield=True):
                await in_thread(close)


def _next(updates: Iterator[dict[str, Any]]) -> dict[str, Any] | None:
    try:
        return next(updates, None)
    except TarnbeckError as error:
        return {"error": failures.told(error)}
    except Exception as error:
        _log.exception("a job failed")
        return {"error": {"kind": "TarnbeckError", "message": f"{type(error).__name__}: {error}"}}


ROUTES: dict[str, dict[str, Handler]] = {
    "/": {"GET": page.index},
    "/page/{file}": {"GET": page.file},
    "/views": {"GET": _views},
    "/views/{view}": {"GET": _view},
    "/views/{view}/live": {"GET": _live},
    "/sql": {"POST": _sql},
    "/streams": {"GET": _streams},
    "/streams/{stream}": {"GET": overview.stream},
    "/streams/{stream}/events": {"GET": tail.events, "POST": _events},
    "/flow": {"GET": overview.flow},
    "/versions": {"GET": overview.versions},
    "/alerts": {"GET": _alerts},
    "/healthz": {"GET": _healthz},
    "/readyz": {"GET": _readyz},
    "/metrics": {"GET": _metrics},
    "/openapi.json": {"GET": _openapi},
    "/docs": {"GET": _docs},
    "/control/status": {"GET": _status},
    "/control/jobs": {"POST": _jobs},
}
