"""The catalog's definitions as plans again."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping

from tarnbeck.app import App
from tarnbeck.plan.view import View
from tarnbeck.schema.stream import Stream
from tarnbeck.store.state import StreamState, VersionState


def stream_of(state: StreamState) -> Stream:
    """The stream that was registered."""
    return _stream(state.definition)


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
