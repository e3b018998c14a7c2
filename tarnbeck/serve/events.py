"""Events that come in over HTTP: taken apart without being decoded, sent, and acknowledged."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

import orjson
import pyarrow as pa

from tarnbeck.errors import UsageError
from tarnbeck.log.lines import LONGEST, Line
from tarnbeck.log.settings import LogSettings
from tarnbeck.schema import packs
from tarnbeck.schema.packs import ARROW, NDJSON
from tarnbeck.schema.stream import Stream
from tarnbeck.schema.strict import Reject

if TYPE_CHECKING:
    from tarnbeck.log.produce import Sent

BIGGEST = 16 * 1024 * 1024
"""Bytes of the largest body."""
LARGE = 64 * 1024
"""Bytes of a body from which on its events are packed: few of them would gain nothing."""

_SPACE = " \t\n\r"


class Sending(Protocol):
    """What sends the events of one request."""

    def send_line(self, line: Line) -> None: ...
    def pack_line(self, line: Line) -> None: ...
    def pack_table(self, table: pa.Table) -> None: ...
    def flush(self) -> Sent: ...


Senders = Callable[[Stream], Sending]


def senders(log: LogSettings) -> Senders:
    """A sender for each request, all over one producer, which is made for the first of them."""
    from tarnbeck.log.produce import Sender, producer

    shared: list[Any] = []
    making = threading.Lock()

    def sender(stream: Stream) -> Sending:
        with making:
            if not shared:
                shared.append(producer(log))
        return Sender(log, stream, shared[0])

    return sender


class TooLargeError(UsageError):
    """An event is larger than any stream takes."""


Hand = Callable[[Sending], None]
"""Hands the events of a body to what sends them."""


def read(body: bytes, content_type: str) -> Hand:
    """How to send the events of a body; one that holds none is refused."""
    text = content_type.split(";")[0].strip().lower()
    if text == ARROW:
        rows = table(body)
        return lambda sending: sending.pack_table(rows)
    found, packed = lines(body, text), len(body) >= LARGE

    def hand(sending: Sending) -> None:
        for line in found:
            (sending.pack_line if packed else sending.send_line)(line)

    return hand


def table(body: bytes) -> pa.Table:
    """The rows of an Arrow stream."""
    try:
        found = packs.table(body)
    except Reject as reject:
        raise UsageError(f"events: {reject}\n  nothing was sent; expected an Arrow IPC stream") from None
    if not found.num_rows:
        raise UsageError("events: the body holds no event\n  expected an Arrow IPC stream with at least one row")
    return found


def lines(body: bytes, text: str) -> list[Line]:
    """The events of a body, each exactly as it was written; a body that is not JSON has none."""
    found = list(_ndjson(body) if text == NDJSON else _json(body))
    if not found:
        raise UsageError("events: the body holds no event\n  expected a JSON object, a list of them, or one per line")
    for line in found:
        if len(line.value) > LONGEST:
            raise TooLargeError(
                f"events: {line.place} is too large\n"
                f"  expected at most {LONGEST:,} bytes, found {len(line.value):,}; nothing was sent"
            )
    return found


def _ndjson(body: bytes) -> Iterator[Line]:
    """Lines as they are; a broken one goes to quarantine, unless no line at all is JSON."""
    found = [
        Line(f"line {number}", line.rstrip(b"\r"))
        for number, line in enumerate(body.split(b"\n"), 1)
        if line and not line.isspace()
    ]
    if found and not any(_is_json(line.value) for line in found):
        raise UsageError("events: no line of the body is JSON\n  nothing was sent; expected one JSON object per line")
    yield from found


def _is_json(value: bytes) -> bool:
    try:
        orjson.loads(value)
    except orjson.JSONDecodeError:
        return False
    return True


def _json(body: bytes) -> Iterator[Line]:
    """One object, or the elements of a list, cut out of the text: parsed and written again, numbers could change."""
    try:
        text = body.decode()
        start = _skip(text, 0)
        if text[start : start + 1] == "[":
            yield from _elements(text, start + 1)
            return
        _, end = _DECODER.raw_decode(text, start)
        if _skip(text, end) != len(text):
            raise ValueError(f"something follows the first value at character {end}")
    except (ValueError, RecursionError) as wrong:
        raise _not_json(wrong) from None
    if text[start] != "{":
        raise UsageError("events: the body is no event\n  nothing was sent; expected a JSON object or a list of them")
    yield Line("event 1", text[start:end].encode())


_DECODER = json.JSONDecoder()


def _elements(text: str, at: int) -> Iterator[Line]:
    at, number = _skip(text, at), 0
    if text[at : at + 1] == "]":
        at += 1
    else:
        while True:
            number, start = number + 1, at
            _, at = _DECODER.raw_decode(text, start)
            yield Line(f"event {number}", text[start:at].encode())
            at = _skip(text, at)
            mark, at = text[at : at + 1], _skip(text, at + 1)
            if mark == "]":
                break
            if mark != ",":
                raise ValueError(f"expected ',' or ']' at character {at - 1}")
    if _skip(text, at) != len(text):
        raise ValueError(f"something follows the list at character {at}")


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _not_json(wrong: Exception) -> UsageError:
    reason = "it nests too deep" if isinstance(wrong, RecursionError) else str(wrong)
    return UsageError(f"events: the body is not JSON: {reason}\n  nothing was sent; for one per line: {NDJSON}")


def send(sender: Sending, hand: Hand) -> dict[str, Any]:
    """Sends the events and tells, once Kafka has acknowledged, what became of them."""
    hand(sender)
    sent = sender.flush()
    return {
        "acknowledged": sent.acknowledged,
        "offsets": {str(each.partition): [each.first, each.last] for each in sent.offsets},
        "failed": [{"reason": f.reason, "count": f.count, "first": f.first} for f in sent.failures],
    }
