"""The App that users make: declarations, streams of other apps among them, and a way to send events to them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tarnbeck import app
from tarnbeck.errors import DeclarationError, UsageError, unknown
from tarnbeck.plan import alert as alerts
from tarnbeck.plan.alert import EVENTS, Alert, Lag, On, Parts
from tarnbeck.plan.definition import of_stream
from tarnbeck.plan.destination import Destination, ToStream
from tarnbeck.plan.view import View
from tarnbeck.schema import ddl

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

    def alert(
        self,
        name: str,
        source: View | Lag | Parts,
        /,
        *,
        when: str,
        lasting: str | None = None,
        to: Destination | Sequence[Destination] = (),
        every: str | None = None,
        per: str | None = None,
        last: str | None = None,
        on: On = "change",
    ) -> Alert:
        """Declares an alert: who is told when a condition over the columns of a view holds, for each of its keys.

        It fires when the condition has held for as long as `lasting` says, and is told once, and once more when it is
        over; again and again, if `every` says how often. Of each key the newest window is looked at (`per` names a
        rollup's level), until it is over for longer than `last`; with `on="close"` the newest closed one. `tb.lag()`
        and `tb.parts()` are about the app itself.
        """
        place = f"alert '{app.named('alert', name)}'"
        if name in self.alerts:
            raise DeclarationError(f"{place}: declared twice\n  choose another name")
        if isinstance(source, View) and self.views.get(source.name) is not source:
            raise DeclarationError(f"{place}: its view is not one of app '{self.name}'")
        made = alerts.alert(
            place, name, source, when=when, lasting=lasting, every=every, to=to, per=per, last=last, on=on
        )
        for destination in made.to:
            self._told(place, destination)
        self.alerts[name] = made
        return made

    def _told(self, place: str, destination: Destination) -> None:
        """Checks a destination against all others, and makes the stream that it may be."""
        known = {each.label: each for rule in self.alerts.values() for each in rule.to}
        if known.get(destination.label, destination) != destination:
            raise DeclarationError(
                f"{place}: to: another destination is called '{destination.label}', too\n"
                "  give one of them a name of its own: name="
            )
        if not isinstance(destination, ToStream):
            return
        found = self.streams.get(destination.stream)
        if found is None:
            self.stream(destination.stream, EVENTS, time="time", key="rule", partitions=1)
        elif found.schema != ddl.parse(EVENTS) or found.derived is not None or found.owner is not None:
            raise DeclarationError(f"{place}: to: stream '{found.name}' is another one\n  choose another name")

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
