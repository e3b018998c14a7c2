"""Lets streams grow before anything reads them: new columns and wider types count from the log's end on."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator

from tarnbeck.app import App
from tarnbeck.errors import DeclarationError
from tarnbeck.log import topics
from tarnbeck.log.settings import LogSettings
from tarnbeck.plan.definition import of_stream
from tarnbeck.schema.evolve import problems
from tarnbeck.schema.stream import Former, Stream
from tarnbeck.store.definitions import stream_of
from tarnbeck.store.protocol import HISTORY, LAKE, SPEED, Store
from tarnbeck.store.state import StreamState, VersionState


def grow(app: App, store: Store, log: LogSettings) -> list[str]:
    """Takes over every declared schema that has grown; gives a line for each. Nothing may read the streams meanwhile.

    Events that are in the log already stay as they were read: lake, speed layer and audit must agree on them for ever.
    """
    told = []
    for name, state in store.streams().items():
        known, declared = stream_of(state), app.streams.get(name)
        if declared is None or declared.schema == known.schema:
            continue
        reasons = [*problems(known.schema, declared.schema), *_laid_out(declared, store)]
        if reasons:
            raise DeclarationError(
                f"stream '{name}': it holds events already and can't change like this\n"
                + "\n".join(f"  {reason}" for reason in reasons)
                + "\n  declare a stream with a new name for the new form, and views over it"
            )
        for role in (SPEED, LAKE, HISTORY):
            # A process that outlives its killed node by a moment must not read what comes now in the old form.
            store.take_token(role)
        end = topics.end(log, known.topic)
        former = (*known.former, Former(known.schema, end.with_history(_begun(state))))
        after = dataclasses.replace(known, schema=declared.schema, former=former)
        store.register_stream(name, json.dumps(of_stream(after)), known.topic, state.origin, end)
        told.append(f"stream '{name}' has new columns or wider types from {end} on")
    return told


def _begun(state: StreamState) -> int:
    """Rows of files that the lake has, or that an open intent brings: it is redone as it was begun."""
    return state.lake_cut.history if state.loading is None else state.loading.end.history


def _laid_out(stream: Stream, store: Store) -> Iterator[str]:
    """Views whose states would be kept otherwise, or that can't be declared over the new schema."""
    for version in store.versions().values():
        if version.stream == stream.name and not _same(version, stream):
            yield f"version {version.id} of view '{version.view}' keeps its values in another form"


def _same(version: VersionState, stream: Stream) -> bool:
    app = App("grown")
    app.stream_of(of_stream(stream))
    try:
        layout = app.view_of(json.loads(version.definition)).layout
    except DeclarationError:
        return False
    return (layout.keys, layout.states) == (version.keys, version.states)
