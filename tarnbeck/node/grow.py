"""Lets streams grow before anything reads them: new columns and wider types count from the log's end on."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence

from tarnbeck.app import App
from tarnbeck.errors import DeclarationError
from tarnbeck.log import topics
from tarnbeck.log.settings import LogSettings
from tarnbeck.plan.definition import of_stream
from tarnbeck.schema.evolve import problems
from tarnbeck.schema.stream import Former, Stream
from tarnbeck.store.definitions import fits, stream_of
from tarnbeck.store.foreign import GROWING
from tarnbeck.store.protocol import HISTORY, LAKE, SPEED, Store
from tarnbeck.store.state import StreamState


def grow(app: App, store: Store, log: LogSettings) -> list[str]:
    """Takes over every declared schema that has grown; gives a line for each. Nothing may read the streams meanwhile.

    Events that are in the log already stay as they were read: lake, speed layer and audit must agree on them for ever.
    """
    told = []
    store.set_meta(GROWING, "")
    for name, state in store.streams().items():
        known, declared = stream_of(state), app.streams.get(name)
        if declared is None or declared.schema == known.schema:
            continue
        reasons = obstacles(declared, state, store)
        if reasons and (declared.owner is None or viewed(app, name)):
            raise DeclarationError(refusal(declared, reasons))
        if reasons:
            # Of what another app has changed there is no way back: the start goes on, so that views can be dropped.
            told.append(f"stream '{name}' stays as it was until its views are dropped: {reasons[0]}")
        elif declared.owner is not None:
            take_over(declared, state, store, log)
            told.append(f"stream '{name}' has new columns or wider types from {declared.former[-1].until} on")
        else:
            told.append(_grown(declared, state, store, log))
    return told


def viewed(app: App, stream: str) -> bool:
    """Whether the application declares a view over a stream."""
    return any(view.stream.name == stream for view in app.views.values())


def _grown(declared: Stream, state: StreamState, store: Store, log: LogSettings) -> str:
    """A stream of this application: its new form counts from the log's end on."""
    known = stream_of(state)
    for role in (SPEED, LAKE, HISTORY):
        # A process that outlives its killed node by a moment must not read what comes now in the old form.
        store.take_token(role)
    # Nor may another application that uses the stream: it asks for this before it counts what it has read.
    store.set_meta(GROWING, state.name)
    end = topics.end(log, known.topic)
    former = (*known.former, Former(known.schema, end.with_history(_begun(state))))
    after = dataclasses.replace(known, schema=declared.schema, former=former)
    store.register_stream(state.name, json.dumps(of_stream(after)), known.topic, state.origin, end)
    store.set_meta(GROWING, "")
    return f"stream '{state.name}' has new columns or wider types from {end} on"


def _begun(state: StreamState) -> int:
    """Rows of files that the lake has, or that an open intent brings: it is redone as it was begun."""
    return state.lake_cut.history if state.loading is None else state.loading.end.history


def take_over(grown: Stream, state: StreamState, store: Store, log: LogSettings) -> None:
    """A used stream: its new form counts from where its owner has settled that it does."""
    end = topics.end(log, grown.topic)
    store.register_stream(state.name, json.dumps(of_stream(grown)), grown.topic, state.origin, end)


def obstacles(grown: Stream, state: StreamState, store: Store) -> list[str]:
    """Why a stream can't take this form: columns in the way, and views that would keep their values otherwise."""
    over = [version for version in store.versions().values() if version.stream == state.name]
    return [
        *problems(stream_of(state).schema, grown.schema),
        *(
            f"version {version.id} of view '{version.view}' keeps its values in another form"
            for version in over
            if not fits(version, grown)
        ),
    ]


def refusal(stream: Stream, reasons: Sequence[str]) -> str:
    """What is in the way, and what to do."""
    lines = "\n".join(f"  {reason}" for reason in reasons)
    if stream.owner is None:
        return (
            f"stream '{stream.name}': it holds events already and can't change like this\n{lines}\n"
            "  declare a stream with a new name for the new form, and views over it"
        )
    app, theirs = stream.owner.app, stream.owner.stream
    return (
        f"stream '{stream.name}': app '{app}' has changed it, and views over it can't follow\n{lines}\n"
        f'  take it under a new name, and views over that: app.use("{app}/{theirs}", name="…")\n'
        "  then deploy that, switch to it, and drop what was over the old name: tarnbeck drop VIEW"
    )
