"""`tarnbeck example`: lists the examples, runs one with its generated feed, or prints its file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tarnbeck.cli import complete, show
from tarnbeck.cli.options import FOLDER, Rate, Seconds, Seed, remember
from tarnbeck.cli.play import play
from tarnbeck.errors import UsageError, unknown

if TYPE_CHECKING:
    from tarnbeck.examples.registry import Example


def example(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="The example; without it, all are listed.", autocompletion=complete.examples
        ),
    ] = None,
    source: Annotated[bool, typer.Option("--source", help="Print the app's file instead, to copy it.")] = False,
    seconds: Seconds = None,
    rate: Rate = None,
    seed: Seed = 1,
    json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
    folder: Annotated[
        Path | None,
        typer.Option("--folder", envvar="TARNBECK_FOLDER", help="Where it keeps its data; else NAME/.tarnbeck."),
    ] = None,
) -> None:
    """Run an example with a generated feed, or list them all.

    All layers are on, and a batch runs every minute. At the end an audit shows that nothing is missing.
    """
    from tarnbeck.examples.registry import EXAMPLES

    if name is not None and json:
        raise UsageError(f"example: --json is for the list\n  leave it out, or leave '{name}' out")
    if json:
        listed = [{"example": each.name, "title": each.title} for each in EXAMPLES.values()]
        show.say(show.as_json({"examples": listed}))
        return
    if name is None:
        show.rows(("example", "what it shows"), [(each.name, each.title) for each in EXAMPLES.values()])
        return
    if name not in EXAMPLES:
        raise UsageError(unknown("example", "example", name, EXAMPLES, "tarnbeck"))
    chosen: Example = EXAMPLES[name]
    if source:
        show.data(chosen.app.read_bytes())
        return
    where = remember(context, folder or Path(name) / FOLDER)
    play(chosen, where, seconds, rate or chosen.rate, seed)
