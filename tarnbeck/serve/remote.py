"""The API from the other side: answers, events and control over HTTP, with the same results and the same errors."""

from __future__ import annotations

import http.client
import json
import math
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

import pyarrow as pa

from tarnbeck.errors import LogError, TarnbeckError, UsageError, unknown
from tarnbeck.schema import packs
from tarnbeck.schema.packs import ARROW, NDJSON, GivesArrow
from tarnbeck.serve import failures, sse, values, wanted
from tarnbeck.serve.answer import Answer
from tarnbeck.serve.follow import Updates
from tarnbeck.serve.parameters import KEY
from tarnbeck.serve.render import JSON, to_json
from tarnbeck.serve.shape import Shape
from tarnbeck.serve.table import SqlAnswer
from tarnbeck.serve.wire import cut_from_json, from_stream, to_answer

if TYPE_CHECKING:
    from tarnbeck.log.produce import Sent
    from tarnbeck.replay.fold import Folded, Step
    from tarnbeck.schema.stream import Stream

SECONDS = 90.0
"""How long one response may take to begin: longer than any answer may wait."""
PACK = 4 * 1024 * 1024
"""Bytes of events that one request carries."""

GIVES_UP = 30.0
"""Seconds after which a server that was lost is not looked for any more."""
_AGAIN = 1.0
_MISSED = 3
"""Heartbeats after which a connection counts as broken."""

Headers = Mapping[str, str]
Events = Iterable[Mapping[str, Any]] | GivesArrow
"""Mappings from column to value, or a table."""


class Link:
    """One kept-alive connection, used by one thread at a time."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in _CONNECTIONS or not parts.hostname:
            raise UsageError(f"connect: bad address {url!r}\n  expected such as http://localhost:8787")
        self._url, self._prefix = url, parts.path.rstrip("/")
        self._connection = _CONNECTIONS[parts.scheme](parts.hostname, parts.port, timeout=SECONDS)
        self._lock = threading.Lock()

    def call(self, method: str, path: str, body: bytes | None, headers: Headers, *, again: bool) -> bytes:
        """The body of the response; `again` allows a second try on a connection that the server closed meanwhile."""
        status, content = self.exchange(method, path, body, headers, again=again)
        if status >= 400:
            raise _failed(status, content)
        return content

    def exchange(
        self, method: str, path: str, body: bytes | None, headers: Headers, *, again: bool
    ) -> tuple[int, bytes]:
        """Status and body of the response, whatever they are."""
        with self._lock, self._begun(method, path, body, headers, again) as response:
            return response.status, response.read()

    def lines(
        self, method: str, path: str, body: bytes | None, headers: Headers, *, patience: float | None = None
    ) -> Generator[bytes, None, None]:
        """The lines of a response as they come, each within so many seconds, or however long that takes."""
        with self._lock:
            try:
                with self._begun(method, path, body, headers, again=False) as response:
                    if response.status >= 400:
                        raise _failed(response.status, response.read())
                    if self._connection.sock is not None:
                        self._connection.sock.settimeout(patience)
                    yield from response
            finally:
                self._connection.close()

    def _begun(
        self, method: str, path: str, body: bytes | None, headers: Headers, again: bool
    ) -> http.client.HTTPResponse:
        fresh = self._connection.sock is None
        try:
            self._connection.request(method, self._prefix + path, body, dict(headers))
            return self._connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            if again and not fresh:
                return self._begun(method, path, body, headers, again=False)
            raise LogError(
                f"connect: no answer from {self._url}: {error or type(error).__name__}\n  is tarnbeck running there?"
            ) from None

    def close(self) -> None:
        with self._lock:
            self._connection.close()


_CONNECTIONS: dict[str, type[http.client.HTTPConnection]] = {
    "http": http.client.HTTPConnection,
    "https": http.client.HTTPSConnection,
}


def _failed(status: int, content: bytes) -> TarnbeckError:
    try:
        return failures.raised(json.loads(content)["error"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return TarnbeckError(f"the server answered with status {status}: {content[:200].decode(errors='replace')}")


class Remote:
    """A tarnbeck behind a URL, as a source of answers."""

    def __init__(self, url: str) -> None:
        self._url, self._link = url, Link(url)

    def query(self, view: str, keys: Mapping[str, Any], options: Mapping[str, Any], shape: Shape) -> Answer:
        path = f"/views/{quote(view, safe='')}?{_parameters(view, keys, options, shape)}"
        return to_answer(*from_stream(self._link.call("GET", path, None, {"Accept": ARROW}, again=True)))

    def live(
        self, view: str, keys: Mapping[str, Any], options: Mapping[str, Any], shape: Shape, seconds: float | None
    ) -> Updates:
        path = f"/views/{quote(view, safe='')}/live?{_parameters(view, keys, options, shape)}"
        return updates(self._url, path, _MISSED * options["heartbeat"], seconds)

    def sql(self, text: str, limit: int, wait: float | None) -> SqlAnswer:
        body = to_json({"sql": text, "limit": limit, "wait": wait})
        headers = {"Accept": ARROW, "Content-Type": JSON}
        table, known = from_stream(self._link.call("POST", "/sql", body, headers, again=True))
        cuts = {view: cut_from_json(cut) for view, cut in known["cuts"].items()}
        return SqlAnswer(table, cuts, known["truncated"], known["kept_since"])

    def views(self) -> list[dict[str, Any]]:
        return self._listed("views")

    def _listed(self, what: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self._link.call("GET", f"/{what}", None, {}, again=True))[what]
        return found

    def fold(self, stream: str, step: Step, start: Any, by: str | Sequence[str] | None) -> Folded:
        raise UsageError("fold: a state is made where the events are\n  connect to the application's folder")

    def send(self, stream: str, events: Events) -> Sent:
        from tarnbeck.app import App

        known = {each["stream"]: each["definition"] for each in self._listed("streams")}
        if stream not in known:
            raise UsageError(unknown("send", "stream", stream, known, "the application"))
        return sent_over(self._link, App("sender").stream_of(known[stream]), events)

    def close(self) -> None:
        self._link.close()


def _parameters(view: str, keys: Mapping[str, Any], options: Mapping[str, Any], shape: Shape) -> str:
    """The part of a URL that puts a question."""
    given = [(name, values.text(value)) for name, value in options.items() if value is not None]
    given += shape.parameters()
    for name, chosen in keys.items():
        for value in wanted.among(f"view '{view}'", name, chosen):
            given.append(("null", name) if value is None else (KEY + name, values.text(value)))
    return urlencode(given)


def updates(url: str, path: str, patience: float, seconds: float | None) -> Updates:
    """The updates that a server sends; a connection that breaks is opened again where it broke off."""
    deadline = math.inf if seconds is None else time.monotonic() + seconds
    last_id, before, heard = "", None, None
    while (left := deadline - time.monotonic()) > 0:
        try:
            headers = {"Accept": sse.KIND, "Last-Event-ID": last_id}
            with closing(Link(url).lines("GET", path, None, headers, patience=min(patience, left))) as lines:
                for event in sse.events(lines):
                    heard = time.monotonic()
                    last_id = event.id or last_id
                    if event.kind == sse.FAILURE:
                        raise failures.raised(json.loads(event.data)["error"])
                    before = sse.update_of(event.data, before) if event.data else before
                    yield before if event.data else None
                    if heard >= deadline:
                        return
        except (LogError, OSError, http.client.HTTPException) as broken:
            if time.monotonic() >= deadline:
                return
            if heard is None or time.monotonic() > heard + GIVES_UP:
                raise LogError(f"live: no answer from {url}: {broken}\n  is tarnbeck running there?") from None
        yield None
        time.sleep(max(0.0, min(_AGAIN, deadline - time.monotonic())))


def sent_over(link: Link, stream: Stream, events: Events) -> Sent:
    """Sends events over HTTP, one request after the other, and adds up what became of them."""
    from tarnbeck.schema.conform import conform
    from tarnbeck.schema.encode import to_json as encoded

    if isinstance(events, GivesArrow):
        return _sent(link, stream.name, _slices(conform(stream, pa.table(events))), ARROW)
    return _sent(link, stream.name, _packs(encoded(stream, event) for event in events), NDJSON)


def _sent(link: Link, stream: str, bodies: Iterable[bytes], content_type: str) -> Sent:
    from tarnbeck.log.produce import Failure, Offsets, Sent

    acknowledged, failed, offsets = 0, list[Failure](), dict[int, Offsets]()
    for body in bodies:
        # Not tried again: the server may have sent what it got before the connection broke.
        path, headers = f"/streams/{quote(stream, safe='')}/events", {"Content-Type": content_type}
        status, content = link.exchange("POST", path, body, headers, again=False)
        if status >= 400 and b'"acknowledged"' not in content:
            raise _failed(status, content)
        told = json.loads(content)
        acknowledged += told["acknowledged"]
        failed += [Failure(**each) for each in told["failed"]]
        for partition, (first, last) in told["offsets"].items():
            before = offsets.get(int(partition))
            offsets[int(partition)] = Offsets(int(partition), first if before is None else before.first, last)
    return Sent(acknowledged, tuple(failed), tuple(offsets[partition] for partition in sorted(offsets)))


def _slices(table: pa.Table) -> Iterator[bytes]:
    """Rows as Arrow streams; a row that no request can carry is left to the server to refuse."""
    step = max(1, table.num_rows * PACK // max(table.nbytes, 1))
    for start in range(0, table.num_rows, step):
        yield packs.of_table(table.slice(start, step)).value


def _packs(encoded: Iterable[bytes]) -> Iterator[bytes]:
    pack = bytearray()
    for line in encoded:
        pack += line + b"\n"
        if len(pack) >= PACK:
            yield bytes(pack)
            pack.clear()
    if pack:
        yield bytes(pack)


class RemoteControl:
    """The Control of a node in another process."""

    def __init__(self, url: str, token: str) -> None:
        self._url, self._headers = url, {"Authorization": f"Bearer {token}", "Content-Type": JSON}

    def status(self) -> dict[str, Any]:
        link = Link(self._url)
        try:
            found: dict[str, Any] = json.loads(link.call("GET", "/control/status", None, self._headers, again=False))
        finally:
            link.close()
        return found

    def run(self, job: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield from map(json.loads, Link(self._url).lines("POST", "/control/jobs", to_json(job), self._headers))
