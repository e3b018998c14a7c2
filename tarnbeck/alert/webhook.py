"""Brings notices to URLs: one POST each, within bounds of time and size, and never further than the URL says."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import orjson

from tarnbeck.alert.notice import Content
from tarnbeck.alert.outcome import Refused, Undelivered
from tarnbeck.alert.secret import from_environment
from tarnbeck.plan.destination import Webhook, checked_url
from tarnbeck.serve.render import JSON

BIGGEST = 256 * 1024
"""Bytes of a request's body; values are cut to much less before."""
HOPELESS = frozenset({400, 404, 405, 410, 413, 414, 415, 422})
"""Answers that the same request would get again."""


def send(to: Webhook, told: Content) -> None:
    """Returns when the receiver has answered that it took the notice."""
    body = orjson.dumps(told)
    if len(body) > BIGGEST:
        raise Refused(f"the notice has {len(body):,} bytes\n  expected at most {BIGGEST:,}: alert on a smaller view")
    url = from_environment(to.url_env) if to.url is None and to.url_env is not None else to.url or ""
    checked_url(url, secret=bool(to.headers_env))
    headers = {
        "Content-Type": JSON,
        "User-Agent": "tarnbeck",
        "Idempotency-Key": told["id"],
        **{name: _header(name, from_environment(variable)) for name, variable in to.headers_env},
    }
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        with _connection(to, url) as connection:
            connection.request("POST", target, body, headers)
            with connection.getresponse() as response:
                status, location = response.status, response.headers.get("location")
    except (OSError, http.client.HTTPException) as error:
        raise Undelivered(f"{type(error).__name__}: {error}") from None
    if not 200 <= status < 300:
        raise (Refused if status in HOPELESS else Undelivered)(_why(status, location))


def _header(name: str, value: str) -> str:
    if not (value.isascii() and value.isprintable()):
        raise Undelivered(f"the secret for the header {name} has characters that a header can't have")
    return value


def _why(status: int, location: str | None) -> str:
    if location is None:
        return f"the receiver answered {status}"
    where = urlsplit(location).hostname or "another path"
    return f"the receiver answered {status}: it redirects to {where}, which is not followed\n  name that URL instead"


@contextlib.contextmanager
def _connection(to: Webhook, url: str) -> Iterator[http.client.HTTPConnection]:
    """A connection that ends when its time is over, however slowly the other side goes on."""
    parts, seconds = urlsplit(url), to.timeout / 1e6
    host = parts.hostname or ""
    if parts.scheme == "https":
        trusted = ssl.create_default_context(cafile=to.ca)
        made: http.client.HTTPConnection = http.client.HTTPSConnection(
            host, parts.port, timeout=seconds, context=trusted
        )
    else:
        made = http.client.HTTPConnection(host, parts.port, timeout=seconds)
    expired = threading.Event()
    late = threading.Timer(seconds, _cut_off, (made, expired))
    late.daemon = True
    late.start()
    try:
        yield made
    finally:
        late.cancel()
        made.close()
    # What was cut off looks like an answer that has ended.
    if expired.is_set():
        raise TimeoutError(f"no answer within {seconds:g} s")


def _cut_off(connection: http.client.HTTPConnection, expired: threading.Event) -> None:
    expired.set()
    with contextlib.suppress(OSError, AttributeError):  # it may end by itself at this very moment
        connection.sock.shutdown(socket.SHUT_RDWR)
