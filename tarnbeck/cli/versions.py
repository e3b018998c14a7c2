"""`tarnbeck versions`, `switch`, `rollback`, `drop`: which definition of a view answers, and what others there are."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from tarnbeck.cli import complete, jobs, show
from tarnbeck.cli.options import FOLDER, Folder, Json, Views

UNIX = datetime(1970, 1, 1, tzinfo=UTC)
View = Annotated[str, typer.Argument(metavar="VIEW", help="The view.", autocompletion=complete.views)]
Version = Annotated[
    int | None, typer.Option("--version", metavar="N", help="The version; the newest if none is named.")
]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; it is kept with the switch.")]


def versions(views: Views = None, json: Json = False, folder: Folder = FOLDER) -> None:
    """Show the versions of views, and when they were switched.

    Which one answers, how far each is, how it differs from the one that answers, and who switched when and why.
    """
    result = jobs.settle(folder, {"do": "versions", "views": views or []})
    if json:
        show.say(show.as_json(result))
        return
    names = ("view", "version", "state", "declared", "up to", "batch", "records behind")
    show.rows(names, _versions(result["views"]))
    for line in _differences(result["views"]):
        show.say(line)
    switches = [switch for view in result["views"] for switch in view["switches"]]
    if switches:
        show.rows(("switched", "view", "from", "to", "by", "reason"), _switches(switches))


def _versions(views: list[dict[str, Any]]) -> Iterator[tuple[Any, ...]]:
    for view in views:
        for each in view["versions"]:
            declared = "yes" if each["declared"] else "no"
            facts = each["state"], declared, each["cut"], each["generation_cut"], each["lag_records"]
            yield view["view"], each["version"], *facts


def _differences(views: list[dict[str, Any]]) -> Iterator[str]:
    for view in views:
        for each in view["versions"]:
            if each["changes"]:
                yield f"{view['view']} version {each['version']}, against the one that answers"
                yield from (f"  {show.printable(line)}" for line in each["changes"])


def _switches(found: list[dict[str, Any]]) -> Iterator[tuple[Any, ...]]:
    for each in sorted(found, key=lambda switch: (switch["id"], switch["view"])):
        when = UNIX + timedelta(microseconds=each["at"])
        yield when, each["view"], each["before"], each["after"], each["who"], each["reason"]


def switch(
    views: Annotated[
        list[str],
        typer.Argument(metavar="VIEW", help="Views, all of them at once or none.", autocompletion=complete.views),
    ],
    version: Version = None,
    reason: Reason = "",
    json: Json = False,
    folder: Folder = FOLDER,
) -> None:
    """Let another version of a view answer.

    In one transaction for all views. Refused unless each version can answer and is not behind the one before it. The
    version that answered until now stays current: tarnbeck rollback goes back to it.
    """
    who = getpass.getuser()
    _moved(
        jobs.settle(folder, {"do": "switch", "views": views, "version": version, "who": who, "reason": reason}), json
    )


def rollback(view: View, reason: Reason = "", json: Json = False, folder: Folder = FOLDER) -> None:
    """Take a view's last switch back.

    All views that were switched with it go back, too, in one transaction.
    """
    job = {"do": "rollback", "view": view, "who": getpass.getuser(), "reason": reason}
    _moved(jobs.settle(folder, job), json)


def _moved(result: dict[str, Any], json: bool) -> None:
    if json:
        show.say(show.as_json(result))
        return
    for each in result["switched"]:
        how = (
            "answered already" if each["before"] == each["after"] else f"answers now; version {each['before']} is kept"
        )
        show.say(f"{each['view']}: version {each['after']} {how}")


def drop(
    view: View,
    version: Version = None,
    whole: Annotated[bool, typer.Option("--whole", help="The view itself, if the app no longer declares it.")] = False,
    json: Json = False,
    folder: Folder = FOLDER,
) -> None:
    """Drop a version of a view that does not answer.

    The one that answers is refused. No event is lost: a version can be built again from history.
    """
    result = jobs.settle(folder, {"do": "drop", "view": view, "version": version, "whole": whole})
    dropped = ", ".join(map(str, result["dropped"]))
    show.say(show.as_json(result) if json else f"{view}: version {dropped} dropped")
