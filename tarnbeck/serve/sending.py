"""The App that users make: declarations, and a way to send events to them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tarnbeck import app
from tarnbeck.errors import UsageError, unknown

if TYPE_CHECKING:
    from tarnbeck.log.produce import Sent
    from tarnbeck.serve.remote import Events


class App(app.App):
    """One application: a name, its streams and its views."""

    def send(self, stream: str, events: Events, /, *, to: str | Path = ".tarnbeck") -> Sent:
        """Sends events to a running app, by its folder or URL; returns when the log has acknowledged them all.

        They are mappings, or the rows of an Arrow table or of a data frame that gives one, which go as packed records.
        """
        # A declaration alone needs no client.
        from tarnbeck.serve.client import connect

        if stream not in self.streams:
            raise UsageError(unknown("send", "stream", stream, self.streams, f"app '{self.name}'"))
        with connect(to) as client:
            return client.send(stream, events)
