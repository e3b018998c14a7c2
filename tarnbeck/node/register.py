"""Brings a declared application into the log and the catalog, and tells what has to be built for it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from tarnbeck.app import App
from tarnbeck.errors import DeclarationError
from tarnbeck.log import topics
from tarnbeck.log.settings import LogSettings
from tarnbeck.plan.definition import identity, of_stream, of_view
from tarnbeck.plan.view import View
from tarnbeck.schema.stream import Stream
from tarnbeck.store import rules
from tarnbeck.store.protocol import Store
from tarnbeck.store.state import StreamState

APP = "app"
"""The key of the application's name among the store's small facts."""


@dataclass(frozen=True)
class Registered:
    """Views that can't answer until a batch has run: new ones, and new versions of ones that answer meanwhile."""

    building: tuple[str, ...]
    changed: dict[str, int]


def register(app: App, store: Store, log: LogSettings) -> Registered:
    """Registers streams and views; running it again with the same application changes nothing."""
    known = store.meta(APP)
    if known not in (None, app.name):
        raise DeclarationError(
            f"app '{app.name}': this folder belongs to app '{known}'\n  give this app a folder of its own: --folder"
        )
    store.set_meta(APP, app.name)
    for stream in app.streams.values():
        _stream(stream, store, log)
    changed = {view.name: version for view in app.views.values() if (version := _view(view, store)) is not None}
    versions, aliases = store.versions(), store.aliases()
    building = tuple(view for view, version in aliases.items() if not rules.answerable(versions[version]))
    return Registered(building, changed)


def _stream(stream: Stream, store: Store, log: LogSettings) -> None:
    known = store.streams().get(stream.name)
    if known is not None:
        _refuse_change(stream, known)
    topics.ensure(log, stream)
    beginning, end = topics.beginning(log, stream.topic), topics.end(log, stream.topic)
    store.register_stream(stream.name, json.dumps(of_stream(stream)), stream.topic, beginning, end)


def _refuse_change(stream: Stream, known: StreamState) -> None:
    before, after = json.loads(known.definition), of_stream(stream)
    changed = [part for part in ("schema", "time", "topic", "derived") if before.get(part) != after.get(part)]
    if changed:
        lines = [f"  {part}: was {before.get(part)}, now {after.get(part)}" for part in changed]
        raise DeclarationError(
            f"stream '{stream.name}': it holds events already and can't change\n"
            + "\n".join(lines)
            + "\n  declare a stream with a new name for the new form"
        )


def _view(view: View, store: Store) -> int | None:
    """The version to build when the definition changed; None when it is registered as it is."""
    wanted, aliases, versions = identity(view), store.aliases(), store.versions()
    if view.name not in aliases:
        store.add_view(view.name, view.stream.name, json.dumps(of_view(view)), wanted, view.layout)
        return None
    if versions[aliases[view.name]].hash == wanted:
        return None
    for version in versions.values():
        if version.view == view.name and version.hash == wanted:
            return version.id
    return store.add_view(view.name, view.stream.name, json.dumps(of_view(view)), wanted, view.layout).id
