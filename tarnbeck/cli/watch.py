"""`tarnbeck watch`: a view's newest windows, refreshed as events arrive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tarnbeck.cli import complete, show
from tarnbeck.cli.options import (
    FOLDER,
    Ask,
    Bounds,
    By,
    Cumulative,
    Every,
    Fill,
    Folder,
    Having,
    Json,
    Keys,
    Last,
    Per,
    Seconds,
    Since,
    Top,
    keys_of,
)
from tarnbeck.cli.picture import Series, picture
from tarnbeck.cli.place import client_of
from tarnbeck.errors import UsageError

if TYPE_CHECKING:
    from tarnbeck.serve.answer import Answer
    from tarnbeck.serve.changes import Update
    from tarnbeck.serve.client import Client
    from tarnbeck.serve.follow import Live

EVERY = 0.5
"""Seconds between two signs of life."""
WINDOWS = 120
"""Windows that are watched when no range is named."""


@dataclass(frozen=True)
class Question:
    """What is watched."""

    view: str
    keys: dict[str, list[str]] = field(default_factory=dict)
    last: str | None = None
    per: str | None = None
    column: str | None = None
    on: str = "change"
    since: str | None = None
    shape: Mapping[str, Any] = field(default_factory=dict)
    """How the answer differs from the view's own rows, by the names that questions have for it."""

    @property
    def title(self) -> str:
        keys = [f"{name}={','.join(values)}" for name, values in self.keys.items()]
        return show.printable(" ".join([self.view, *keys, *([f"per {self.per}"] if self.per else [])]))


def watch(
    view: Annotated[str, typer.Argument(metavar="VIEW", help="The view to watch.", autocompletion=complete.views)],
    keys: Keys = None,
    last: Last = None,
    since: Since = None,
    per: Per = None,
    by: By = None,
    every: Every = None,
    fill: Fill = False,
    cumulative: Cumulative = False,
    having: Having = None,
    top: Top = None,
    ask: Ask = None,
    bounds: Bounds = False,
    column: Annotated[
        str | None, typer.Option("--column", help="The column to draw; the first number if not named.")
    ] = None,
    on: Annotated[
        str, typer.Option("--on", metavar="TRIGGER", help="When to show changes: change, 10s, 'after 5s' or close.")
    ] = "change",
    json: Json = False,
    seconds: Seconds = None,
    folder: Folder = FOLDER,
) -> None:
    """Watch a view live: its newest windows and a line of one column.

    In a pipe the rows that changed are printed, as lines, each with its timing: early, on time or late. With --on close
    only closed windows are shown.
    """
    shape: dict[str, Any] = {"by": by, "every": every, "fill": fill, "cumulative": cumulative}
    shape |= {"having": having, "top": top, "ask": ask, "bounds": bounds}
    question = Question(view, keys_of(keys), last, per, column, on, since, shape)
    with client_of(folder) as client, watched(client, question, seconds) as updates:
        if json or not show.terminal():
            stream(updates, json)
        else:
            draw(updates, question)


def watched(client: Client, question: Question, seconds: float | None) -> Live:
    """The updates to what is watched, with a heartbeat now and then."""
    return client.live(
        question.view,
        last=question.last or recent(client, question),
        since=question.since,
        per=question.per,
        keys=question.keys,
        on=question.on,
        heartbeat=EVERY,
        seconds=seconds,
        **question.shape,
    )


def recent(client: Client, question: Question) -> str | None:
    """The length of the newest windows; None for all of them, where windows are long or there are none.

    A range that is named is taken as it is, and a total would begin anew as the newest windows move on.
    """
    from tarnbeck.window import duration

    if question.since is not None or question.shape.get("cumulative"):
        return None
    levels = next((each["levels"] for each in client.views() if each["view"] == question.view), None)
    window = question.shape.get("every") or question.per or (levels or [""])[0]
    try:
        return duration.text(WINDOWS * duration.duration(window))
    except UsageError:
        return None


def draw(updates: Live, question: Question) -> None:
    """Draws the answer after each update over the one before."""
    from rich.live import Live as Screen
    from rich.text import Text

    console = show.console()
    with Screen(console=console, auto_refresh=False) as screen:
        for update in updates.beats():
            answer = updates.answer
            if answer is None:
                screen.update(Text(f"{question.title}: building", style="dim"), refresh=True)
            elif update is not None:
                footer = [show.covers(answer.origin, answer.cut)]
                screen.update(picture(series_of(answer, question), *console.size, footer), refresh=True)


def series_of(answer: Answer, question: Question) -> Series:
    return Series(question.title, answer.names, answer.rows, question.column)


def stream(updates: Iterable[Update], json: bool) -> None:
    """Prints the rows of each update, under a header or as JSON."""
    for number, update in enumerate(updates):
        if json:
            lines(update)
            continue
        if number == 0:
            show.say("\t".join((*update.names, "timing")))
        for row, timing in zip(update.changed.rows, update.timings, strict=True):
            show.say("\t".join((*(show.printable(show.plain(value)) for value in row), timing)))


def lines(update: Update) -> None:
    """Prints a line of JSON for each row that left or changed, with the cut, and whether its window was closed."""
    from tarnbeck.serve.render import exact
    from tarnbeck.serve.wire import cut_to_json

    cut = cut_to_json(update.cut)
    for place in update.removed:
        show.say(show.as_json({"removed": dict(zip(update.names, place, strict=False)), "cut": cut}))
    for row, timing in zip(exact(update.changed), update.timings, strict=True):
        show.say(show.as_json({"row": dict(zip(update.names, row, strict=True)), "timing": timing, "cut": cut}))
