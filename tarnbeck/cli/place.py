"""What a folder tells: the streams of the app that ran there, and the log they are in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tarnbeck.cli.options import pairs
from tarnbeck.errors import LogError, UsageError, unknown

if TYPE_CHECKING:
    from tarnbeck.log.settings import LogSettings
    from tarnbeck.schema.stream import Stream
    from tarnbeck.serve.client import Client
    from tarnbeck.store.sqlite import SQLiteStore

Broker = Annotated[
    str | None, typer.Option("--broker", metavar="HOST:PORT", help="A Kafka of your own instead of the embedded one.")
]
Properties = Annotated[
    list[str] | None,
    typer.Option("--property", metavar="NAME=VALUE", help="A security setting of your Kafka; may be repeated."),
]


def properties_of(texts: list[str] | None) -> tuple[tuple[str, str], ...]:
    return tuple(pairs(texts, "property", "security.protocol=SSL").items())


@contextmanager
def store_of(folder: Path) -> Iterator[SQLiteStore]:
    """The folder's store, which works whether a node runs or not."""
    from tarnbeck.serve.clock import now
    from tarnbeck.store.sqlite import SQLiteStore

    if not (folder / "store").is_dir():
        raise UsageError(f"no app has run in '{folder}' yet\n  start one: tarnbeck up app.py")
    store = SQLiteStore(folder / "store", now)
    try:
        yield store
    finally:
        store.close()


def stream_of(folder: Path, name: str) -> Stream:
    """A stream as it was registered by the app that ran here."""
    from tarnbeck.store import definitions

    with store_of(folder) as store:
        known = store.streams()
    if name not in known:
        raise UsageError(unknown(f"'{folder}'", "stream", name, known, "the app"))
    return definitions.stream_of(known[name])


def log_of(folder: Path, broker: str | None = None, properties: list[str] | None = None) -> LogSettings:
    """How to reach the folder's log: the Kafka that is named, its broker, its node's, or that of a used app."""
    from tarnbeck.log.settings import LogSettings
    from tarnbeck.node.logs import log_at, shared
    from tarnbeck.store import definitions

    if broker is not None:
        return LogSettings(broker, properties_of(properties))
    if properties:
        raise UsageError("--property is for a Kafka of your own\n  name it too: --broker host:port")
    found = log_at(folder)
    if found is None:
        with store_of(folder) as store:
            found = shared(folder, map(definitions.stream_of, store.streams().values()))
    if found is None:
        raise LogError(
            f"no log: no app and no broker runs in '{folder}'\n"
            "  start the app: tarnbeck up app.py, or name your own Kafka: --broker host:port"
        )
    return found


def client_of(folder: Path) -> Client:
    """A client of the application in a folder, with the classes that its views need."""
    from tarnbeck.node.loading import load_custom
    from tarnbeck.serve.client import connect
    from tarnbeck.serve.clock import now
    from tarnbeck.store.sqlite import SQLiteStore

    client = connect(folder)
    store = SQLiteStore(folder / "store", now)
    try:
        load_custom(store)
    finally:
        store.close()
    return client
