"""Feeds every derived stream, each by a thread of its own, for as long as the node lives."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa

from tarnbeck.arrow.derive import derived
from tarnbeck.errors import StoreError, TarnbeckError
from tarnbeck.log.follow import Record
from tarnbeck.log.pack import key_of
from tarnbeck.log.relay import Outgoing, relay
from tarnbeck.log.settings import LogSettings
from tarnbeck.plan.declare import derivation
from tarnbeck.schema.decode import decode
from tarnbeck.schema.decoded import RECORDS
from tarnbeck.schema.stream import Stream
from tarnbeck.schema.types import Schema
from tarnbeck.store import foreign
from tarnbeck.store.definitions import stream_of
from tarnbeck.store.protocol import Store

LOOK = 1.0
"""Seconds between two looks at the catalog for new derived streams."""
PAUSE = 2.0
"""Seconds after a failure before it is tried again."""


def run(
    log: LogSettings,
    store: Store,
    stop: threading.Event,
    told: Callable[[int], None],
    failed: Callable[[BaseException], None],
) -> None:
    """Feeds the derived streams of the catalog until told to stop; a failure is told and tried again."""
    feeds: dict[str, threading.Thread] = {}
    while True:
        for name, state in store.streams().items():
            stream = stream_of(state)
            if stream.derived is not None and name not in feeds:
                feeds[name] = threading.Thread(target=_feed, args=(log, store, stream, stop, told, failed), name=name)
                feeds[name].start()
        if stop.wait(LOOK):
            break
    for feed in feeds.values():
        feed.join()


def _feed(
    log: LogSettings,
    store: Store,
    stream: Stream,
    stop: threading.Event,
    told: Callable[[int], None],
    failed: Callable[[BaseException], None],
) -> None:
    assert stream.derived is not None  # noqa: S101 (asked for derived streams only)

    def make(records: Sequence[Record]) -> Iterator[Outgoing]:
        if not foreign.unchanged(source):
            raise foreign.changed(source)
        for made in derived(stream, source, decode(source, _table(records)).events):
            yield Outgoing(made.value, key_of(stream, made.value), made.received)

    while not stop.is_set():
        known = store.streams()[stream.derived.source]
        source = stream_of(known)
        try:
            _refuse_narrow(stream, source)
            relay(log, source.topic, stream.topic, known.origin, make, stop=stop.is_set, told=told)
        except TarnbeckError as error:
            failed(error)
            stop.wait(PAUSE)


def _refuse_narrow(stream: Stream, source: Stream) -> None:
    """Stops until a start lets the stream grow, too, when its source, which is another app's, has grown meanwhile."""
    made = stream.derived
    if source.owner is None or made is None:
        return
    _, columns = derivation(f"stream '{stream.name}'", source, made.where, dict(made.select) or None, None)
    if Schema(columns) != stream.schema:
        raise StoreError(
            f"stream '{stream.name}': what it is made of, '{source.name}', has grown in app '{source.owner.app}'\n"
            f"  expected {stream.schema}\n  found {Schema(columns)}\n"
            "  it waits, and nothing is lost; start this app again, so that it grows as well"
        )


def _table(records: Sequence[Record]) -> pa.Table:
    return pa.table(
        {
            "partition": [record.partition for record in records],
            "offset": [record.offset for record in records],
            "timestamp": [record.timestamp for record in records],
            "key": [record.key for record in records],
            "value": [record.value for record in records],
            "content_type": [record.content_type for record in records],
        },
        schema=RECORDS,
    )
