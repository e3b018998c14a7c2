"""The App that users make: declarations, streams of other apps among them, and a way to send events to them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tarnbeck import app
from tarnbeck.errors import DeclarationError, UsageError, unknown
from tarnbeck.plan.definition import of_stream

if TYPE_CHECKING:
    from tarnbeck.log.produce import Sent
    from tarnbeck.schema.stream import Stream
    from tarnbeck.serve.remote import Events


class App(app.App):
    """One application: a name, its streams and its views."""

    def use(self, stream: str, /, *, name: str | None = None, folder: str | Path | None = None) -> Stream:
        """A stream of another app, such as "bitcoin/prices": its topic and its lake are read, never written.

        `folder` is where that app keeps its data, relative to the file that says so. Without it, the app is looked for
        by its name: `bitcoin/.tarnbeck` in the folders that the environment variable TARNBECK_APPS lists, then in the
        folder above this file's, then `.tarnbeck` beside this file. If `name` is given, the stream is called so here.
        """
        # A declaration alone needs no store.
        from tarnbeck.store import foreign

        other, _, theirs = stream.partition("/")
        place = f"app '{self.name}': use({stream!r})"
        if not (other and theirs):
            raise DeclarationError(f'{place}: which stream?\n  expected app and stream, such as use("bitcoin/prices")')
        if other == self.name:
            raise DeclarationError(f"{place}: it is this app's own\n  declare it here: app.stream({theirs!r}, …)")
        file = sys._getframe(1).f_globals.get("__file__")
        base = Path(file).absolute().parent if file else Path.cwd()
        where = foreign.find(other, base) if folder is None else (base / folder).resolve()
        found = foreign.owned(name or theirs, other, theirs, where)
        return self.stream_of(of_stream(found.stream))

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
