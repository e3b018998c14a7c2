"""`tarnbeck lake`: the tables of the master data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tarnbeck.cli import complete, jobs, show
from tarnbeck.cli.options import FOLDER, Folder, Json

Accept = Annotated[
    str | None,
    typer.Option(
        "--accept-hole",
        metavar="STREAM",
        help="Go on although retention removed events that the lake never saw.",
        autocompletion=complete.streams,
    ),
]
Reason = Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why; it is kept with the hole.")]


def lake(accept: Accept = None, reason: Reason = None, json: Json = False, folder: Folder = FOLDER) -> None:
    """Show the lake's tables.

    Rows, files, size, cut, and how many records each is behind the log.
    """
    if accept is not None:
        _accept(accept, reason, json, folder)
        return
    result = jobs.run(folder, {"do": "lake"})
    if json:
        show.say(show.as_json(result))
        return
    names = ("stream", "table", "rows", "files", "size", "up to", "behind")
    show.rows(
        names,
        (
            (t["stream"], t["table"], t["rows"], t["files"], show.size(t["bytes"]), t["cut"], t["lag"])
            for t in result["tables"]
        ),
    )


def _accept(stream: str, reason: str | None, json: bool, folder: Path) -> None:
    result = jobs.run(folder, {"do": "accept-hole", "stream": stream, "reason": reason})
    lost, cut = result["lost"], result["cut"]
    show.say(show.as_json(result) if json else f"the lake of '{stream}' goes on at {cut}, without {lost:,} records")
