"""`tarnbeck batch`: builds generations of views from the lake."""

from __future__ import annotations

from typing import Annotated

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
    names = ("view", "built", "records", "rows", "seconds", "up to")
    show.rows(
        names,
        (
            (v["view"], "in full" if v["full"] else "incrementally", v["records"], v["rows"], v["seconds"], v["cut"])
            for v in result["views"]
        ),
    )
