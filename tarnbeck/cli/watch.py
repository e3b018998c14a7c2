"""`tarnbeck watch`: a view's newest windows, refreshed as events arrive."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tarnbeck.cli import show
from tarnbeck.cli.options import FOLDER, Folder, Json, Keys, Last, Per, Seconds, pairs
from tarnbeck.cli.picture import Series, picture
from tarnbeck.errors import NotReady, UsageError

if TYPE_CHECKING:
    from tarnbeck.serve.answer import Answer
    from tarnbeck.serve.client import Client

EVERY = 0.5
"""Seconds between two looks at the store."""
WINDOWS = 120
"""Windows that are watched when no range is named."""


@dataclass(frozen=True)
class Question:
    """What is watched."""

    view: str
    keys: dict[str, str] = field(default_factory=dict)
    last: str | None = None
    per: str | None = None
    column: str | None = None

    @property
    def title(self) -> str:
        keys = [f"{name}={value}" for name, value in self.keys.items()]
        return show.printable(" ".join([self.view, *keys, *([f"per {self.per}"] if self.per else [])]))


def watch(
    view: Annotated[str, typer.Argument(metavar="VIEW", help="The view to watch.")],
    keys: Keys = None,
    last: Last = None,
    per: Per = None,
    column: Annotated[
        str | None, typer.Option("--column", help="The column to draw; the first number if not named.")
    ] = None,
    json: Json = False,
    seconds: Seconds = None,
    folder: Folder = FOLDER,
) -> None:
    """Watch a view live: its newest windows and a line of one column.

    In a pipe the rows that changed are printed, as lines.
    """
    from tarnbeck.serve.client import connect

    question = Question(view, pairs(keys, "key", "currency=EUR"), last, per, column)
    with connect(folder) as client:
        answers = changes(looks(client, question, seconds))
        if json or not show.terminal():
            stream(answers, json)
        else:
            live(answers, question)


def looks(
    client: Client, question: Question, seconds: float | None, stop: threading.Event | None = None
) -> Iterator[Answer | None]:
    """The answer, again and again, until the time is over or `stop` is set; None while the view is building."""
    range_ = question.last or recent(client, question)
    deadline = None if seconds is None else time.monotonic() + seconds
    stop = stop or threading.Event()
    while True:
        try:
            yield client.query(question.view, last=range_, per=question.per, keys=question.keys)
        except NotReady:
            yield None
        left = EVERY if deadline is None else min(EVERY, deadline - time.monotonic())
        if left <= 0 or stop.wait(left):
            return


def changes(answers: Iterator[Answer | None]) -> Iterator[Answer | None]:
    """Only the answers whose cut has moved."""
    seen: Any = ()
    for answer in answers:
        state = None if answer is None else (answer.version, answer.cut)
        if state != seen:
            seen = state
            yield answer


def recent(client: Client, question: Question) -> str | None:
    """The length of the newest windows; None for all of them, where windows are long or there are none."""
    from tarnbeck.window import duration

    levels = next((each["levels"] for each in client.views() if each["view"] == question.view), None)
    try:
        return duration.text(WINDOWS * duration.duration(question.per or (levels or [""])[0]))
    except UsageError:
        return None


def live(answers: Iterator[Answer | None], question: Question) -> None:
    """Draws each answer over the one before."""
    from rich.live import Live
    from rich.text import Text

    console = show.console()
    with Live(console=console, auto_refresh=False) as screen:
        for answer in answers:
            if answer is None:
                screen.update(Text(f"{question.title}: building", style="dim"), refresh=True)
                continue
            footer = [show.covers(answer.origin, answer.cut)]
            screen.update(picture(series_of(answer, question), *console.size, footer), refresh=True)


def series_of(answer: Answer, question: Question) -> Series:
    return Series(question.title, answer.names, answer.rows, question.column)


def stream(answers: Iterator[Answer | None], json: bool) -> None:
    """Prints the rows that are new or changed since the answer before."""
    before: set[tuple[Any, ...]] = set()
    named = False
    for answer in answers:
        if answer is None:
            continue
        if not named and not json:
            show.say("\t".join(answer.names))
            named = True
        for row in answer.rows:
            if row not in before:
                line = show.as_json(dict(zip(answer.names, row, strict=True))) if json else None
                show.say(line or "\t".join(show.printable(show.plain(value)) for value in row))
        before = set(answer.rows)
