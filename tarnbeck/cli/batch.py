"""`tarnbeck batch`: builds generations of views from the lake."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tarnbeck.cli import jobs, show
from tarnbeck.cli.options import FOLDER, Folder, Json, Views


def batch(
    views: Views = None,
    full: Annotated[bool, typer.Option("--full", help="From all events, not from the last generation on.")] = False,
    json: Json = False,
    folder: Folder = FOLDER,
) -> None:
    """Run the batch layer now.

    Incrementally from the last generation, or in full from the lake; both give the same rows.
    """
    result = jobs.run(folder, {"do": "batch", "views": views or [], "full": full})
    if json:
        show.say(show.as_json(result))
        return
    names = ("view", "version", "built", "records", "rows", "seconds", "up to")
    show.rows(names, (_row(view) for view in result["views"]))


def _row(made: dict[str, Any]) -> tuple[Any, ...]:
    built = "in full" if made["full"] else "incrementally"
    return made["view"], made["version"], built, made["records"], made["rows"], made["seconds"], made["cut"]
