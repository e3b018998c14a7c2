"""`tarnbeck doctor`: whether this machine and this folder have all that an app needs."""

from __future__ import annotations

from typing import Annotated

import typer

from tarnbeck.cli import show
from tarnbeck.cli.options import FOLDER, Folder, Json


def doctor(
    port: Annotated[
        int | None,
        typer.Option("--port", min=1, max=65535, help="The port that `up` is to get; 8787 if none is named."),
    ] = None,
    json: Json = False,
    folder: Folder = FOLDER,
) -> None:
    """Look for what could keep an app from running.

    Python, Java, packages, jars, Java's archive of classes, port, disk, memory, and what runs in the folder. For each
    problem: what to do. The exit code is 0 only if there is none; a note is no problem.
    """
    from tarnbeck.cli.checks import PROBLEM, Place, examine

    found = list(examine(Place(folder.absolute(), port)))
    well = all(each.state != PROBLEM for _, each in found)
    if json:
        checks = [{"check": name, "state": each.state, "found": each.found, "fix": each.fix} for name, each in found]
        show.say(show.as_json({"well": well, "checks": checks}))
    else:
        # Where all is well, a column of what to do would be empty.
        fixes = any(each.fix for _, each in found)
        names = ("check", "state", "found", "to do") if fixes else ("check", "state", "found")
        show.rows(names, ((name, each.state, each.found, each.fix)[: len(names)] for name, each in found))
    if not well:
        raise typer.Exit(1)
