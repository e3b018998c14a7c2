"""`tarnbeck tail`: follows a stream as it grows."""

from __future__ import annotations

import itertools
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from tarnbeck.cli import complete, show
from tarnbeck.cli.options import FOLDER, Folder, Json
from tarnbeck.cli.place import Broker, Properties, log_of, stream_of

if TYPE_CHECKING:
    from tarnbeck.log.events import Event

From = Annotated[
    str, typer.Option("--from", metavar="PLACE", help="earliest, latest, an offset, offsets (0:5,1:7) or a time.")
]


def tail(
    stream: Annotated[
        str, typer.Argument(metavar="STREAM", help="The stream to follow.", autocompletion=complete.streams)
    ],
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
    from tarnbeck.log.events import events_of
    from tarnbeck.log.follow import follow, parse_start

    place = parse_start(start)
    topic = stream_of(folder, stream).topic
    records = follow(log_of(folder, broker, properties), topic, place)
    for event in itertools.islice(itertools.chain.from_iterable(map(events_of, records)), count):
        _print(event, json)


def _print(event: Event, json: bool) -> None:
    from tarnbeck.log.events import as_dict

    if json:
        show.say(show.as_json(as_dict(event)))
    elif show.terminal():
        show.say(shown(event))
    else:
        sys.stdout.buffer.write((event.value or b"").replace(b"\n", b" ") + b"\n")
    sys.stdout.flush()


def shown(event: Event) -> str:
    """One event as a person reads it: place, time of arrival, key, value."""
    record = event.record
    key = show.printable((record.key or b"").decode(errors="replace"))
    value = show.printable((event.value or b"").decode(errors="replace"))
    time = record.timestamp.isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00")
    place = f"{record.partition}:{record.offset}" + (f":{event.index}" if event.packed else "")
    return f"{place}  {time}  {key}  {value}"
