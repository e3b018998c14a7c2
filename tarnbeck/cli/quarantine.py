"""`tarnbeck quarantine`: the events that could not be decoded."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any

import typer

from tarnbeck.cli import complete, jobs, show
from tarnbeck.cli.options import FOLDER, Folder, Json
from tarnbeck.cut import partition_name, partition_named
from tarnbeck.errors import UsageError

Stream = Annotated[str, typer.Argument(metavar="STREAM", help="The stream.", autocompletion=complete.streams)]
COLUMNS = ("stream", "place", "index", "received", "size", "reason")


def listed(
    stream: Annotated[
        str | None, typer.Argument(metavar="STREAM", help="Only of this stream.", autocompletion=complete.streams)
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="At most so many, the newest.")] = 100,
    json: Json = False,
    folder: Folder = FOLDER,
) -> None:
    """List quarantined events, the newest first, with the reason."""
    result = jobs.run(folder, {"do": "quarantine", "action": "list", "stream": stream, "limit": limit})
    if json:
        show.say(show.as_json(result))
        return
    if not result["events"]:
        show.note("nothing is in quarantine")
        return
    show.rows(COLUMNS, ([_cell(event, name) for name in COLUMNS] for event in result["events"]))
    if result["more"]:
        show.note(f"there are more than {limit:,}; for more: --limit")


def shown(
    stream: Stream,
    place: Annotated[str, typer.Argument(metavar="PLACE", help="PARTITION:OFFSET, with :INDEX for one of a pack.")],
    json: Json = False,
    folder: Folder = FOLDER,
) -> None:
    """Show one quarantined event whole."""
    job = {"do": "quarantine", "action": "show", "stream": stream, "place": place_of(place)}
    event = jobs.run(folder, job)["event"]
    if json:
        show.say(show.as_json(event))
        return
    for name in ("stream", "place", "received", "reason", "encoding"):
        show.say(f"{name + ':':<10} {show.printable(show.pretty(_cell(event, name)))}")
    show.say("")
    show.say("\n".join(show.printable(line) for line in (event["value"] or "").splitlines()))


def retried(
    stream: Stream,
    places: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PLACE", help="PARTITION:OFFSET, with :INDEX for one of a pack; all when none is named."
        ),
    ] = None,
    json: Json = False,
    folder: Folder = FOLDER,
) -> None:
    """Append quarantined events to the log again, each by itself: they get new places and are decoded anew."""
    chosen = [place_of(place) for place in places] if places else None
    result = jobs.run(folder, {"do": "quarantine", "action": "retry", "stream": stream, "places": chosen})
    if json:
        show.say(show.as_json(result))
    else:
        where = " ".join(f"{partition}:{first}-{last}" for partition, (first, last) in result["offsets"].items())
        show.say(f"{result['sent']:,} sent again" + (f" at {where}" if where else ""))
    if result.get("failed"):
        raise typer.Exit(1)


def place_of(text: str) -> list[int]:
    """Reads a place in the log.

    >>> place_of("0:617"), place_of("0:617:3"), place_of("history:617")
    ([0, 617], [0, 617, 3], [-1, 617])
    """
    if not re.fullmatch(r"(\d{1,9}|history):\d{1,18}(:\d{1,9})?", text, re.ASCII):
        raise UsageError(f"bad place '{text}'\n  expected partition:offset[:index], such as 0:617 or 0:617:3")
    return [partition_named(number) for number in text.split(":")]


def _cell(event: dict[str, Any], name: str) -> Any:
    if name == "place":
        return f"{partition_name(event['partition'])}:{event['offset']}"
    return datetime.fromisoformat(event[name]) if name == "received" else event[name]
