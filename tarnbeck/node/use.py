"""Follows the streams of other applications that this one uses: how they have grown, and how far their lakes are."""

from __future__ import annotations

import threading
from collections.abc import Callable

from tarnbeck.errors import DeclarationError, StoreError, TarnbeckError
from tarnbeck.log.settings import LogSettings
from tarnbeck.node.grow import obstacles, refusal, take_over
from tarnbeck.store import foreign
from tarnbeck.store.definitions import stream_of, used
from tarnbeck.store.protocol import Store
from tarnbeck.store.state import StreamState

EVERY = 1.0
"""Seconds between two looks at the catalogs of other applications."""
PAUSE = 10.0
"""Seconds after a failure before it is tried again."""


def run(
    log: LogSettings,
    store: Store,
    stop: threading.Event,
    told: Callable[[int], None],
    failed: Callable[[BaseException], None],
) -> None:
    """Follows until told to stop; what fails is told and tried again, and holds up no other stream."""
    pause = 0.0
    while not stop.wait(pause):
        pause = EVERY
        for state in used(store.streams()):
            try:
                told(follow(log, store, state))
            except TarnbeckError as error:
                failed(error)
                pause = PAUSE


def follow(log: LogSettings, store: Store, state: StreamState) -> int:
    """Takes over a stream's form and the cut of its lake as they are now; gives the records that the lake has more."""
    stream = stream_of(state)
    found = foreign.now(stream)
    if found.origin != state.origin:
        raise StoreError(
            f"stream '{state.name}': the app that it belongs to has another one of that name now\n"
            f"  expected one that begins at {state.origin} of the topic with id {state.origin.topic}, "
            f"found {found.origin} of {found.origin.topic}\n  use another folder for this app, too"
        )
    if found.growing:
        return 0
    if found.stream != stream:
        reasons = obstacles(found.stream, state, store)
        if reasons:
            raise DeclarationError(refusal(stream, reasons))
        take_over(found.stream, state, store, log)
    if found.lake_cut != state.lake_cut:
        store.follow_lake(state.name, found.lake_cut)
    return state.lake_cut.meet(found.lake_cut).span_to(found.lake_cut).records
