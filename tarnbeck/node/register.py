"""Brings a declared application into the log and the catalog, and tells what has to be built for it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tarnbeck.app import App
from tarnbeck.errors import DeclarationError, LogError
from tarnbeck.lake.files import find
from tarnbeck.log import topics
from tarnbeck.log.settings import LogSettings
from tarnbeck.node.grow import obstacles, refusal, viewed
from tarnbeck.node.loading import folder_of
from tarnbeck.plan.change import changes
from tarnbeck.plan.definition import Definition, identity, of_stream, of_view
from tarnbeck.plan.view import View
from tarnbeck.schema.stream import Stream
from tarnbeck.store import foreign, rules
from tarnbeck.store.definitions import stream_of, view_of
from tarnbeck.store.foreign import APP
from tarnbeck.store.protocol import Store
from tarnbeck.store.state import StreamState, VersionState

DECLARED = "declared"
"""The key of the application's definition as last declared among the store's small facts."""


@dataclass(frozen=True)
class Registered:
    """What a declaration means for what is there.

    `building` can't answer before history was replayed into it. `changed` views are declared otherwise than any of
    their versions, with what differs from the one that answers. `waiting` views have a version as declared, which does
    not answer. `removed` views are declared no more.
    """

    building: tuple[int, ...]
    changed: Mapping[str, tuple[str, ...]]
    waiting: Mapping[str, int]
    removed: tuple[str, ...]


def register(app: App, store: Store, log: LogSettings) -> Registered:
    """Registers streams and new views; running it again changes nothing. A changed view stays as it was."""
    _refuse_other(app, store)
    store.set_meta(APP, app.name)
    for stream in app.streams.values():
        if stream.owner is None:
            _stream(stream, store, log)
        else:
            _used(app, stream, store, log)
    for view in app.views.values():
        if view.name not in store.aliases():
            add(view, store)
    store.set_meta(DECLARED, json.dumps(app.definition()))
    return outlook(app, store)


def startable(app: App, store: Store) -> None:
    """Raises what a start with this declaration would raise, as far as the catalog can tell."""
    _refuse_other(app, store)
    known = store.streams()
    for version in store.versions().values():
        # A view with an aggregate whose class is gone, or has changed, can't be read.
        view_of(version, known)
    for stream in app.streams.values():
        if stream.owner is None:
            _refuse_no_files(stream, store)
        if stream.name in known:
            state = known[stream.name]
            reasons = obstacles(stream, state, store)
            if reasons and (stream.owner is None or viewed(app, stream.name)):
                raise DeclarationError(refusal(stream, reasons))
            _refuse_change(dataclasses.replace(stream, schema=stream_of(state).schema), state)


def _refuse_other(app: App, store: Store) -> None:
    known = store.meta(APP)
    if known not in (None, app.name):
        raise DeclarationError(
            f"app '{app.name}': this folder belongs to app '{known}'\n  give this app a folder of its own: --folder"
        )


def declared(store: Store) -> App | None:
    """The application as it was last declared."""
    found = store.meta(DECLARED)
    return None if found is None else App.of(json.loads(found))


def add(view: View, store: Store) -> VersionState:
    """Another version of a view, which can't answer before history was replayed into it."""
    return store.add_view(view.name, view.stream.name, json.dumps(of_view(view)), identity(view), view.layout)


def version_of(view: View, store: Store) -> VersionState | None:
    """The version with this very definition: the one that answers, else the newest."""
    live, hash_, text = store.aliases().get(view.name), identity(view), of_view(view)
    own = [each for each in store.versions().values() if each.view == view.name]
    # A stream that has grown changes the hash, but no answer of a view that says the same.
    found = [each for each in own if each.hash == hash_ or json.loads(each.definition) == text]
    return max(found, key=lambda each: (each.id == live, each.id), default=None)


def outlook(app: App, store: Store) -> Registered:
    """What a registered declaration means for the versions there are now."""
    versions, aliases = store.versions(), store.aliases()
    changed: dict[str, tuple[str, ...]] = {}
    waiting: dict[str, int] = {}
    for view in app.views.values():
        live, found = versions[aliases[view.name]], version_of(view, store)
        if found is None:
            changed[view.name] = tuple(changes(json.loads(live.definition), of_view(view)))
        elif found.id != live.id:
            waiting[view.name] = found.id
    building = tuple(version.id for version in versions.values() if not rules.answerable(version))
    return Registered(building, changed, waiting, tuple(name for name in aliases if name not in app.views))


def told(registered: Registered) -> Iterator[str]:
    """What the declaration asks for that a start alone does not do."""
    for view, lines in registered.changed.items():
        yield f"view '{view}' is declared otherwise now; what was declared before goes on answering"
        yield from (f"  {line}" for line in lines)
    if registered.changed:
        yield "  build the new versions beside the old ones: tarnbeck deploy APP.py"
    for view, version in registered.waiting.items():
        yield f"view '{view}': version {version} is as declared, another one answers; see: tarnbeck versions {view}"
    if registered.removed:
        yield f"no longer declared, kept until dropped: {', '.join(registered.removed)}"


def _used(app: App, stream: Stream, store: Store, log: LogSettings) -> None:
    """A stream of another app: it begins where it began there, and its lake is as far as it is there."""
    assert stream.owner is not None  # noqa: S101 (asked for used streams only)
    known = store.streams().get(stream.name)
    if known is not None:
        reasons = obstacles(stream, known, store) if known.topic == stream.topic else []
        if reasons and viewed(app, stream.name):
            raise DeclarationError(refusal(stream, reasons))
        if reasons:
            return
        _refuse_change(stream, known)
    found = foreign.now(stream)
    if found.growing or found.stream != stream:
        raise foreign.changed(stream)
    there = topics.describe(log, [stream.topic]).get(stream.topic)
    if there is None or there.id != found.origin.topic:
        raise LogError(
            f"stream '{stream.name}': the log of app '{stream.owner.app}' is not at {log.bootstrap}\n"
            f"  no topic '{stream.topic}' with the id {found.origin.topic} is there\n"
            "  both apps need one broker: name that of the other app, or none, to have it found"
        )
    end = topics.end(log, stream.topic)
    store.register_stream(stream.name, json.dumps(of_stream(stream)), stream.topic, found.origin, end)
    store.follow_lake(stream.name, found.lake_cut)


def _stream(stream: Stream, store: Store, log: LogSettings) -> None:
    known = store.streams().get(stream.name)
    if known is not None:
        _refuse_change(stream, known)
        stream = dataclasses.replace(stream, former=stream_of(known).former)
    _refuse_no_files(stream, store)
    topics.ensure(log, stream)
    beginning, end = topics.beginning(log, stream.topic), topics.end(log, stream.topic)
    store.register_stream(stream.name, json.dumps(of_stream(stream)), stream.topic, beginning, end)


def _refuse_no_files(stream: Stream, store: Store) -> None:
    """A name that means no file is a mistake, unless its files were loaded once."""
    base = folder_of(store)
    if stream.history and not store.history(stream.name) and not find(stream.history, base):
        raise DeclarationError(
            f"stream '{stream.name}': history: no file is meant by {', '.join(map(repr, stream.history))}\n"
            f"  names are relative to {base}"
        )


def _refuse_change(stream: Stream, known: StreamState) -> None:
    before, after = (_parts(each) for each in (json.loads(known.definition), of_stream(stream)))
    changed = [part for part in after if before[part] != after[part]]
    if changed:
        lines = [f"  {part}: was {before[part]}, now {after[part]}" for part in changed]
        raise DeclarationError(
            f"stream '{stream.name}': it holds events already and can't change now\n"
            + "\n".join(lines)
            + "\n  new columns and wider types are taken by a start: tarnbeck up APP.py"
            + "\n  for anything else, declare a stream with a new name"
        )


def _parts(definition: Definition) -> dict[str, object]:
    """What of a stream's definition must stay."""
    owner = definition.get("owner")
    belongs = None if owner is None else f"{owner['app']}/{owner['stream']}"
    return {part: definition.get(part) for part in ("schema", "time", "topic", "derived")} | {"owner": belongs}
