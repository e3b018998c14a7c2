"""`tarnbeck tail`: follows a stream as it grows."""

from __future__ import annotations

import base64
import itertools
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tarnbeck.cli import show
from tarnbeck.cli.options import FOLDER, Folder, Json
from tarnbeck.cli.place import Broker, Properties, log_of, stream_of

if TYPE_CHECKING:
    from tarnbeck.log.follow import Record

From = Annotated[
    str, typer.Option("--from", metavar="PLACE", help="earliest, latest, an offset, offsets (0:5,1:7) or a time.")
]


def tail(
    stream: Annotated[str, typer.Argument(metavar="STREAM", help="The stream to follow.")],
    start: From = "latest",
    count: Annotated[int | None, typer.Option("--count", min=1, help="End after so many events.")] = None,
    json: Json = False,
    broker: Broker = None,
    properties: Properties = None,
    folder: Folder = FOLDER,
) -> None:
    """Follow a stream live.

    In a pipe only the values are printed, one per line, as `tarnbeck send` takes them.
    """
    from tarnbeck.log.follow import follow, parse_start

    place = parse_start(start)
    topic = stream_of(folder, stream).topic
    records = follow(log_of(folder, broker, properties), topic, place)
    for record in itertools.islice(records, count):
        _print(record, json)


def _print(record: Record, json: bool) -> None:
    if json:
        show.say(show.as_json(as_dict(record)))
    elif show.terminal():
        show.say(shown(record))
    else:
        sys.stdout.buffer.write((record.value or b"").replace(b"\n", b" ") + b"\n")
    sys.stdout.flush()


def shown(record: Record) -> str:
    """One event as a person reads it: place, time of arrival, key, value."""
    key = show.printable((record.key or b"").decode(errors="replace"))
    value = show.printable((record.value or b"").decode(errors="replace"))
    time = record.timestamp.isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00")
    return f"{record.partition}:{record.offset}  {time}  {key}  {value}"


def as_dict(record: Record) -> dict[str, Any]:
    """One event as JSON: bytes that are not text are told in base64."""
    found: dict[str, Any] = {"partition": record.partition, "offset": record.offset, "received": record.timestamp}
    for name, raw in (("key", record.key), ("value", record.value)):
        try:
            found[name] = None if raw is None else raw.decode()
        except UnicodeDecodeError:
            found[f"{name}_base64"] = base64.b64encode(raw or b"").decode()
    return found
