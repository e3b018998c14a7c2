"""Feeds every derived stream, each by a thread of its own, for as long as the node lives."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tarnbeck.arrow.derive import Made, derived
from tarnbeck.cut import Cut
from tarnbeck.derive import lookup
from tarnbeck.errors import StoreError
from tarnbeck.log.follow import Record, of_records
from tarnbeck.log.pack import key_of
from tarnbeck.log.relay import Outgoing, relay
from tarnbeck.log.settings import LogSettings
from tarnbeck.memory.changes import always
from tarnbeck.plan.derive import derivation
from tarnbeck.schema.decode import decode
from tarnbeck.schema.stream import Stream
from tarnbeck.schema.types import Schema
from tarnbeck.store import foreign
from tarnbeck.store.definitions import stream_of
from tarnbeck.store.protocol import Store

LOOK = 1.0
"""Seconds between two looks at the catalog for new derived streams."""
PAUSE = 2.0
"""Seconds after a failure before it is tried again."""


@dataclass(frozen=True)
class Setting:
    """What every feed works with; `told` hears of records, `failed` of what went wrong and is tried again."""

    log: LogSettings
    store: Store
    clock: Callable[[], int]
    stop: threading.Event
    told: Callable[[int], None]
    failed: Callable[[BaseException], None]


def run(setting: Setting) -> None:
    """Feeds the derived streams of the catalog until told to stop."""
    feeds: dict[str, threading.Thread] = {}
    while True:
        for name, state in setting.store.streams().items():
            stream = stream_of(state)
            if stream.derived is not None and name not in feeds:
                feeds[name] = threading.Thread(target=_feed, args=(setting, stream), name=name)
                feeds[name].start()
        if setting.stop.wait(LOOK):
            break
    for feed in feeds.values():
        feed.join()


def _feed(setting: Setting, stream: Stream) -> None:
    assert stream.derived is not None  # noqa: S101 (asked for derived streams only)
    stop = setting.stop

    def make(records: Sequence[Record]) -> Iterator[Outgoing]:
        if not foreign.unchanged(source):
            raise foreign.changed(source)
        for made in _made(setting, stream, source, records):
            yield Outgoing(made.value, key_of(stream, made.value), made.received)

    while not stop.is_set():
        known = setting.store.streams()[stream.derived.source]
        source = stream_of(known)
        try:
            _refuse_narrow(stream, source)
            relay(setting.log, source.topic, stream.topic, known.origin, make, stop=stop.is_set, told=setting.told)
        except Exception as error:
            # Whatever went wrong, a thread that ended without a word would leave the stream behind for ever.
            if not stop.is_set():
                setting.failed(error)
                stop.wait(PAUSE)


def _made(setting: Setting, stream: Stream, source: Stream, records: Sequence[Record]) -> Iterator[Made]:
    """What is made of one batch of records, with the rows of a table where it takes one."""
    assert stream.derived is not None  # noqa: S101 (asked for derived streams only)
    join, changes, store = stream.derived.join, stream.derived.changes, setting.store
    events = decode(source, of_records(records)).events
    looked_up = join or changes
    if looked_up is None:
        yield from derived(stream, source, events)
        return
    if join is not None and join.static:
        yield from derived(stream, source, events, *always(join.definition))
        return
    table = lookup.table_of(store, looked_up)
    if join is not None:
        newest = max(record.timestamp for record in records)
        lookup.await_arrivals(setting.log, store, table, newest, join.wait, setting.clock, setting.stop)
    else:
        lookup.await_table(store, table, _before(store, source, records), setting.stop)
    with lookup.looking(store, table) as found:
        yield from derived(stream, source, events, table, found)


def _before(store: Store, source: Stream, records: Sequence[Record]) -> Cut:
    """Up to where the log stood before these records, in their partitions."""
    first: dict[int, int] = {}
    for record in records:
        first.setdefault(record.partition, record.offset)
    return Cut.of(store.streams()[source.name].origin.topic, first)


def _refuse_narrow(stream: Stream, source: Stream) -> None:
    """Stops until a start lets the stream grow, too, when its source, which is another app's, has grown meanwhile."""
    made = stream.derived
    if source.owner is None or made is None or made.join is not None or made.changes is not None:
        return
    _, columns = derivation(f"stream '{stream.name}'", source, made.where, dict(made.select) or None, None)
    if Schema(columns) != stream.schema:
        raise StoreError(
            f"stream '{stream.name}': what it is made of, '{source.name}', has grown in app '{source.owner.app}'\n"
            f"  expected {stream.schema}\n  found {Schema(columns)}\n"
            "  it waits, and nothing is lost; start this app again, so that it grows as well"
        )
