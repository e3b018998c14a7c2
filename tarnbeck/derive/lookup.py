"""Looks rows of a table up for streams that are made with them, once the table is as far as they need it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from tarnbeck.algebra.aggregate import UNIX
from tarnbeck.cut import Cut
from tarnbeck.errors import NotReady, StoreError
from tarnbeck.log import topics
from tarnbeck.log.settings import LogSettings
from tarnbeck.memory.changes import Change, Key, Lookup, Visible, change_of
from tarnbeck.plan.definition import of_view
from tarnbeck.plan.view import View
from tarnbeck.schema.stream import Changes, Join, Stream
from tarnbeck.store import rules
from tarnbeck.store.definitions import view_of
from tarnbeck.store.protocol import LOADED, Snapshot, Store

PAUSE = 0.02
_MICROSECOND = timedelta(microseconds=1)
GRACE = 50_000
"""Microseconds that a record may take from its arrival until readers of the log see it."""


def table_of(store: Store, lookup: Join | Changes) -> View:
    """The table as it was when the stream was declared; another version of it would make other events."""
    version = store.versions()[store.aliases()[lookup.table]]
    view = view_of(version, store.streams())
    if of_view(view) != json.loads(lookup.definition):
        raise StoreError(
            f"derive: table '{lookup.table}' answers from another definition than the one that was joined\n"
            f"  go back to it: tarnbeck rollback {lookup.table}; or declare a stream with a new name"
        )
    return view


def await_arrivals(
    log: LogSettings,
    store: Store,
    table: View,
    newest: datetime,
    wait: int,
    clock: Callable[[], int],
    stop: threading.Event,
) -> None:
    """Until the table holds all that may count for events up to the newest: what the log received until they waited."""
    until = (newest - UNIX) // _MICROSECOND + wait + GRACE
    while (left := until - clock()) > 0:
        _pause(stop, left / 1_000_000)
    await_table(store, table, topics.end(log, table.stream.topic), stop)


def await_table(store: Store, table: View, cut: Cut, stop: threading.Event) -> None:
    """Until the table answers and covers a cut, with all older rows from files: else what is made hung on luck."""
    while not _covers(store, table, cut):
        _pause(stop, PAUSE)


def _covers(store: Store, table: View, cut: Cut) -> bool:
    version, old = store.versions().get(store.aliases()[table.name]), _old_rows(store, table.stream)
    if version is None or old is None or not rules.answerable(version):
        return False
    return version.cut.covers(cut.with_history(old))


def _old_rows(store: Store, stream: Stream) -> int | None:
    """Rows that came from files; None until all that there were are loaded."""
    loaded = store.meta(LOADED + stream.name) if stream.history else "0"
    return None if loaded is None else int(loaded)


def _pause(stop: threading.Event, seconds: float) -> None:
    # What moves the table is another process, which gives nothing to wait on.
    if stop.wait(seconds):
        raise NotReady("derive: stopped while a table was waited for")


@contextmanager
def looking(store: Store, table: View) -> Iterator[Lookup]:
    """A lookup in the table as it is at one moment of the store."""
    with store.snapshot([table.name]) as snapshot:
        yield _lookup(snapshot, table)


def _lookup(snapshot: Snapshot, table: View) -> Lookup:
    read = change_of(table)

    def lookup(key: Key, moment: int | None, visible: Visible) -> Change | None:
        below = () if moment is None else (moment + 1,)
        newest: Change | None = None
        for part in snapshot.parts(table.name, key=key, last_first=True, below=below):
            found = next(filter(visible, map(read, part)), None)
            if found is not None and (newest is None or found.order > newest.order):
                newest = found
        return newest

    return lookup
