"""The catalog's definitions as plans again."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping

from tarnbeck.app import App
from tarnbeck.errors import DeclarationError
from tarnbeck.plan.definition import of_stream
from tarnbeck.plan.view import View
from tarnbeck.schema.stream import Stream
from tarnbeck.store.state import StreamState, VersionState


def stream_of(state: StreamState) -> Stream:
    """The stream that was registered."""
    return _stream(state.definition)


def own(streams: Mapping[str, StreamState]) -> dict[str, StreamState]:
    """The streams that this application writes, without those that it uses of others."""
    return {name: state for name, state in streams.items() if stream_of(state).owner is None}


def used(streams: Mapping[str, StreamState]) -> list[StreamState]:
    """The streams of others."""
    return [state for state in streams.values() if stream_of(state).owner is not None]


def fits(version: VersionState, stream: Stream) -> bool:
    """Whether a version would keep its values in the same form over another form of its stream."""
    app = App("catalog")
    app.stream_of(of_stream(stream))
    try:
        layout = app.view_of(json.loads(version.definition)).layout
    except DeclarationError:
        return False
    return (layout.keys, layout.states) == (version.keys, version.states)


def view_of(version: VersionState, streams: Mapping[str, StreamState]) -> View:
    """The view that a version is one definition of."""
    return _view(version.definition, streams[version.stream].definition)


@functools.lru_cache(maxsize=1024)
def _stream(definition: str) -> Stream:
    return App("catalog").stream_of(json.loads(definition))


@functools.lru_cache(maxsize=1024)
def _view(definition: str, stream: str) -> View:
    app = App("catalog")
    app.stream_of(json.loads(stream))
    return app.view_of(json.loads(definition))
