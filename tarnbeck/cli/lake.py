"""`tarnbeck lake`: the tables of the master data."""

from __future__ import annotations

from tarnbeck.cli import jobs, show
from tarnbeck.cli.options import FOLDER, Folder, Json


def lake(json: Json = False, folder: Folder = FOLDER) -> None:
    """Show the lake's tables.

    Rows, files, size, cut, and how many events each is behind the log.
    """
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
