"""Brings notices to a stream of the application, as events that everyone may read."""

from __future__ import annotations

from tarnbeck.alert.notice import Content, event
from tarnbeck.alert.outcome import Undelivered
from tarnbeck.log.lines import Line
from tarnbeck.schema.encode import to_json
from tarnbeck.schema.stream import Stream
from tarnbeck.serve.events import Senders


def send(senders: Senders, stream: Stream, told: Content) -> None:
    """Returns when the log has acknowledged the event."""
    sender = senders(stream)
    sender.send_line(Line(told["id"], to_json(stream, event(told))))
    sent = sender.flush()
    if sent.failed:
        raise Undelivered(f"the log did not take it: {sent.failures[0].reason}")
