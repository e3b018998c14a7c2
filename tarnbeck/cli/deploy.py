"""`tarnbeck deploy` and `tarnbeck replay`: new versions of views, built from history beside those that answer."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tarnbeck.cli import complete, jobs, show
from tarnbeck.cli.options import APP, FOLDER, AppFile, Folder, Json

Rate = Annotated[
    float | None,
    typer.Option("--max-rate", metavar="EVENTS", min=1, help="Events per second at the most.", show_default="no bound"),
]


def deploy(
    app: AppFile = APP,
    max_rate: Rate = None,
    json: Json = False,
    folder: Folder = FOLDER,
) -> None:
    """Build what changed in an app, beside what answers.

    Each changed view gets a new version, filled from history and then kept current; new views are built as well.
    Nothing is switched. What was cut off is gone on with.
    """
    from tarnbeck.node.loading import load

    declared = load(app).definition()
    result = jobs.run(folder, {"do": "deploy", "app": declared, "max_rate": max_rate})
    if json:
        show.say(show.as_json(result))
        return
    report(result)


def replay(
    view: Annotated[str, typer.Argument(metavar="VIEW", help="The view.", autocompletion=complete.views)],
    max_rate: Rate = None,
    json: Json = False,
    folder: Folder = FOLDER,
) -> None:
    """Build a version of one view from history, beside the one that answers.

    By its newest declaration, from the first event on. A version that is not finished is gone on with.
    """
    result = jobs.run(folder, {"do": "replay", "view": view, "max_rate": max_rate})
    if json:
        show.say(show.as_json(result))
        return
    _built(result["versions"])
    for made in result["versions"]:
        show.say(f"next: tarnbeck verify {made['view']}, then tarnbeck switch {made['view']}")


def report(result: dict[str, Any]) -> None:
    """What a deploy did, and what is left to do."""
    for view, lines in result["changed"].items():
        show.say(f"view '{view}' changed")
        for line in lines:
            show.say(f"  {line}")
    _built(result["versions"])
    if result["ready"]:
        show.say(f"next: tarnbeck verify VIEW, then tarnbeck switch {' '.join(result['ready'])}")
    if result["removed"]:
        show.say(f"no longer declared, kept until dropped: {', '.join(result['removed'])}")
    if not (result["versions"] or result["ready"] or result["removed"]):
        show.say("nothing changed")


def _built(versions: list[dict[str, Any]]) -> None:
    if versions:
        names = ("view", "version", "records", "seconds", "up to")
        show.rows(names, ((v["view"], v["version"], v["records"], v["seconds"], v["cut"]) for v in versions))
