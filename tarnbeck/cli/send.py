"""`tarnbeck send`: sends the lines of a file to a stream."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tarnbeck.cli import complete, show
from tarnbeck.cli.options import FOLDER, Folder, Json
from tarnbeck.cli.place import Broker, Properties, log_of, stream_of
from tarnbeck.errors import UsageError

if TYPE_CHECKING:
    from tarnbeck.log.produce import Sent

File = Annotated[
    str, typer.Argument(metavar="FILE", help="JSON lines or CSV; - is standard input.", autocompletion=complete.data)
]
Form = Annotated[
    Literal["json", "csv"] | None,
    typer.Option("--format", help="Taken from the file's name if not given, else json.", show_default=False),
]


def send(
    stream: Annotated[
        str, typer.Argument(metavar="STREAM", help="The stream to send to.", autocompletion=complete.streams)
    ],
    file: File = "-",
    form: Form = None,
    pack: Annotated[
        bool, typer.Option("--pack", help="Many events per Kafka record, up to 1 MB: faster for all who read them.")
    ] = False,
    json: Json = False,
    broker: Broker = None,
    properties: Properties = None,
    folder: Folder = FOLDER,
) -> None:
    """Send events to a stream, and say which were acknowledged and at which offsets."""
    from tarnbeck.log.produce import Sender, ours, send_lines

    declared = ours(stream_of(folder, stream), "send")
    log = log_of(folder, broker, properties)
    chosen = form or ("csv" if file.endswith(".csv") else "json")
    with _lines(file) as lines, _progress(stream) as progress:
        way = Sender.pack_line if pack else Sender.send_line
        sent = send_lines(log, declared, lines, format=chosen, way=way, progress=progress)
    show.say(show.as_json(as_dict(sent)) if json else told(sent))
    for failure in sent.failures:
        show.note(f"tarnbeck: {failure}")
    if sent.failed:
        raise typer.Exit(1)


@contextmanager
def _lines(file: str) -> Iterator[Iterator[bytes]]:
    if file == "-":
        yield iter(sys.stdin.buffer)
        return
    try:
        opened = Path(file).open("rb")  # noqa: SIM115 (closed below; only opening may fail with this message)
    except OSError as error:
        raise UsageError(f"can't read '{file}': {error.strerror}\n  expected a file of JSON lines or CSV") from None
    with opened:
        yield iter(opened)


@contextmanager
def _progress(stream: str) -> Iterator[Callable[[int], None]]:
    if not (show.terminal() and sys.stderr.isatty()):
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status(f"sending to {stream}") as status:
        yield lambda count: status.update(f"sending to {stream}: {count:,} lines")


def told(sent: Sent) -> str:
    """How many events the log has, and where."""
    places = " ".join(f"{each.partition}:{each.first}-{each.last}" for each in sent.offsets)
    return f"{sent.acknowledged:,} acknowledged" + (f" at {places}" if places else "")


def as_dict(sent: Sent) -> dict[str, object]:
    """The same for a program."""
    return {
        "acknowledged": sent.acknowledged,
        "offsets": {str(each.partition): [each.first, each.last] for each in sent.offsets},
        "failed": [{"reason": each.reason, "count": each.count, "first": each.first} for each in sent.failures],
    }
