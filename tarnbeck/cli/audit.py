"""`tarnbeck audit`: shows that views equal a recount of the raw events."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import typer

from tarnbeck.cli import jobs, show
from tarnbeck.cli.options import FOLDER, Folder, Json, Views

UNIX = datetime(1970, 1, 1, tzinfo=UTC)


def audit(views: Views = None, json: Json = False, folder: Folder = FOLDER) -> None:
    """Recount views from the raw events and compare every row.

    The recount ends at the very cut that the view answers with. If not equal: the first differing rows, exit code 1.
    """
    result = jobs.run(folder, {"do": "audit", "views": views or []})
    if json:
        show.say(show.as_json(result))
    else:
        report(result)
    if not equal(result):
        raise typer.Exit(1)


def equal(result: dict[str, Any]) -> bool:
    return all(view["equal"] for view in result["views"])


def report(result: dict[str, Any]) -> None:
    """One row per view, then the first rows that differ."""
    names = ("view", "audit", "rows", "differ", "only served", "only recounted", "up to")
    show.rows(
        names,
        (
            (
                view["view"],
                "equal" if view["equal"] else "NOT EQUAL",
                *(view[name] for name in ("rows", "differs", "only_served", "only_recount", "cut")),
            )
            for view in result["views"]
        ),
    )
    for view in result["views"]:
        for line in differing(view):
            show.say(line)


def differing(view: dict[str, Any]) -> Iterator[str]:
    """The first rows that differ: what was served, what the recount gave."""
    for sample in view["samples"]:
        when = show.pretty(UNIX + timedelta(microseconds=sample["start"]))
        keys = ", ".join(show.printable(str(key)) for key in sample["keys"])
        yield f"{view['view']} [{keys}] level {sample['level']} at {when}"
        yield f"  served:    {_states(sample['served'])}"
        yield f"  recounted: {_states(sample['recount'])}"


def _states(found: list[Any] | None) -> str:
    return "no such row" if found is None else ", ".join(show.printable(str(value)) for value in found)
