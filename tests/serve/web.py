"""Doubles of what stands behind the HTTP API, and what tests call it with."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from tarnbeck.errors import UsageError
from tarnbeck.log.lines import Line
from tarnbeck.log.produce import Failure, Offsets, Sent
from tarnbeck.schema import cells
from tarnbeck.schema.stream import Stream
from tarnbeck.serve.server import Server

TOKEN = "a token"  # noqa: S105
ARROW = "application/vnd.apache.arrow.stream"


@dataclass
class Outbox:
    """A log that keeps what it is sent, and refuses what says so."""

    lines: list[Line] = field(default_factory=list)
    packed: int = 0

    def __call__(self, stream: Stream) -> Outbox:
        assert stream.name == "orders"
        self.lines.clear()
        self.packed = 0
        return self

    def send_line(self, line: Line) -> None:
        self.lines.append(line)

    def pack_line(self, line: Line) -> None:
        self.packed += 1
        self.send_line(line)

    def pack_table(self, table: pa.Table) -> None:
        for number, value in enumerate(cells.objects(table), 1):
            self.pack_line(Line(f"row {number}", value))

    def flush(self) -> Sent:
        refused = [line for line in self.lines if b"refuse" in line.value]
        failures = (Failure("timed out", len(refused), refused[0].place),) if refused else ()
        taken = len(self.lines) - len(refused)
        return Sent(taken, failures, (Offsets(0, 10, 9 + taken),) if taken else ())


class Steward:
    """A node that does what its jobs say."""

    def __init__(self) -> None:
        self.state = "running"
        self.closed = threading.Event()

    def status(self) -> dict[str, Any]:
        parts = [{"part": "speed", "state": self.state, "lag_records": 3, "lag_seconds": 0.5, "rate": 100.0}]
        return {"app": "shop", "parts": parts, "views": [{"view": "total", "lag_records": 2}], "streams": []}

    def run(self, job: dict[str, Any]) -> Iterator[dict[str, Any]]:
        try:
            yield {"step": "beginning"}
            if job["do"] == "refuse":
                raise UsageError("job: it is refused")
            if job["do"] == "break":
                raise RuntimeError("broken")
            yield {"result": job}
        finally:
            self.closed.set()


@dataclass(frozen=True)
class Reply:
    status: int
    headers: http.client.HTTPMessage
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def error(self) -> str:
        return str(self.json["error"]["message"])


Call = Callable[..., Reply]


@dataclass(frozen=True)
class Told:
    """One server-sent event, or a comment."""

    fields: dict[str, str]

    @property
    def id(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.fields["id"])
        return found

    @property
    def data(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.fields["data"])
        return found

    @property
    def rows(self) -> list[tuple[str, dict[str, Any]]]:
        return [(each["timing"], each["row"]) for each in self.data["rows"]]


class Listener:
    """Reads a stream of events by the words of the standard, through a plain connection."""

    def __init__(self, server: Server, path: str, last_id: str | None = None, buffer: int | None = None) -> None:
        self._connection = http.client.HTTPConnection(server.host, server.port, timeout=20)
        if buffer is not None:
            listening = socket.socket()
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
            listening.settimeout(20)
            listening.connect((server.host, server.port))
            self._connection.sock = listening
        self._connection.request("GET", path, headers={} if last_id is None else {"Last-Event-ID": last_id})
        self.response = self._connection.getresponse()

    def next(self) -> Told | None:
        """The next event or comment; None at the end of the stream."""
        fields: dict[str, str] = {}
        while line := self.response.readline().decode():
            if line == "\n":
                return Told(fields)
            name, _, value = line.rstrip("\n").partition(":")
            fields[name] = value.removeprefix(" ")
        return None

    def update(self) -> Told:
        """The next update, past comments and hints."""
        while (told := self.next()) is not None:
            if "data" in told.fields:
                return told
        raise AssertionError("the stream has ended")

    def close(self) -> None:
        self.response.close()
        self._connection.close()
