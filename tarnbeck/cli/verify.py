"""`tarnbeck verify`: how a version of a view differs from the one that answers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import typer

from tarnbeck.cli import jobs, show
from tarnbeck.cli.options import FOLDER, Folder, Json
from tarnbeck.cli.versions import UNIX, Version, View


def verify(view: View, version: Version = None, json: Json = False, folder: Folder = FOLDER) -> None:
    """Compare a version of a view with the one that answers.

    Row by row at one cut, in the columns that both have. If not equal: what differs, the first rows, exit code 1.
    """
    result = jobs.settle(folder, {"do": "verify", "view": view, "version": version})
    if json:
        show.say(show.as_json(result))
    else:
        report(result)
    if not result["equal"]:
        raise typer.Exit(1)


def report(result: dict[str, Any]) -> None:
    """The count of rows, a row per column, then the first rows that differ."""
    title = f"{result['view']}: version {result['old']} answers, version {result['new']} is compared with it"
    show.say(f"{title}, both up to {result['cut']}")
    names = ("verify", "in both", "differ", f"only {result['old']}", f"only {result['new']}")
    equal = "equal" if result["equal"] else "NOT EQUAL"
    counts = (result["rows"], result["differs"], result["only_old"], result["only_new"])
    show.rows(names, [(equal, *counts)])
    show.rows(("column", "same", "differ"), _columns(result))
    for line in differing(result):
        show.say(line)


def _columns(result: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    for column in result["columns"]:
        yield column["name"], column["same"], column["differs"]
    for side in ("old", "new"):
        for name in result[f"columns_{side}"]:
            yield name, None, f"only {result[side]}"


def differing(result: dict[str, Any]) -> Iterator[str]:
    """The first rows that differ: what the one version says, and what the other."""
    for sample in result["samples"]:
        when = show.pretty(UNIX + timedelta(microseconds=sample["start"]))
        keys = ", ".join(show.printable(str(key)) for key in sample["keys"])
        yield f"[{keys}] level {sample['level']} at {when}"
        for side in ("old", "new"):
            yield f"  version {result[side]}: {_row(sample[side])}"


def _row(found: dict[str, Any] | None) -> str:
    if found is None:
        return "no such row"
    return ", ".join(f"{name} {show.printable(str(value))}" for name, value in found.items())
