"""The options that commands share, and how their texts are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tarnbeck.cli import complete
from tarnbeck.errors import UsageError

FOLDER = Path(".tarnbeck")


@dataclass
class Session:
    """What the outermost error handler must know of the command that failed."""

    folder: Path = FOLDER
    debug: bool = False


def remember(context: typer.Context, folder: Path) -> Path:
    """Notes where the command works, so that the traceback of an error is kept there."""
    if isinstance(context.obj, Session):
        context.obj.folder = folder
    return folder


Folder = Annotated[
    Path,
    typer.Option("--folder", envvar="TARNBECK_FOLDER", help="Where the app keeps its data.", callback=remember),
]
APP = Path("app.py")
AppFile = Annotated[
    Path,
    typer.Argument(
        metavar="[APP.py]", help="The file that declares the app; app.py here if none.", autocompletion=complete.apps
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV.")]
Keys = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="KEY=VALUE", help="Only rows with these keys; a key given again has several values.", show_default=False
    ),
]
Views = Annotated[
    list[str] | None,
    typer.Argument(metavar="VIEW", help="Views; all when none is named.", autocompletion=complete.views),
]
Last = Annotated[str | None, typer.Option("--last", metavar="LENGTH", help="Only windows this recent, such as 1h.")]
Since = Annotated[
    str | None, typer.Option("--since", metavar="TIME", help="From here on, such as 2026-01-31T12:00:00Z.")
]
By = Annotated[
    list[str] | None,
    typer.Option(
        "--by", metavar="KEY", help="Group by some keys, or by NAME=EXPRESSION over keys; '' takes all together."
    ),
]
Every = Annotated[
    str | None,
    typer.Option(
        "--every", metavar="LENGTH", help="Longer windows, such as 1 day or 1 month; 'all': the range as one."
    ),
]
Fill = Annotated[bool, typer.Option("--fill", help="Also the windows without events.")]
Cumulative = Annotated[bool, typer.Option("--cumulative", help="Each window with all before it in the range.")]
Having = Annotated[str | None, typer.Option("--having", metavar="CONDITION", help="Only rows for which this is true.")]
Top = Annotated[str | None, typer.Option("--top", metavar="COLUMN", help="The greatest of this column first.")]
Ask = Annotated[
    list[str] | None,
    typer.Option("--ask", metavar="OUTPUT=VALUE", help="What an output is asked about, such as p=0.99."),
]
Bounds = Annotated[bool, typer.Option("--bounds", help="Also the bounds of every estimate.")]
Per = Annotated[str | None, typer.Option("--per", metavar="UNIT", help="The level of a rollup, such as minute.")]
Seconds = Annotated[float | None, typer.Option("--seconds", min=0, help="End by itself after so many seconds.")]
Rate = Annotated[
    float | None,
    typer.Option("--rate", min=0.1, max=100_000, help="Events per second; each example has a rate of its own."),
]
Seed = Annotated[int, typer.Option("--seed", help="Another seed gives another feed.")]
Batches = Annotated[
    str, typer.Option("--batch-every", metavar="LENGTH", help="How often the batch layer runs, such as 10m; or never.")
]


def pairs(texts: Sequence[str] | None, what: str, example: str) -> dict[str, str]:
    """Reads `name=value` arguments.

    >>> pairs(["currency=EUR"], "key", "currency=EUR")
    {'currency': 'EUR'}
    """
    found: dict[str, str] = {}
    for text in texts or ():
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise UsageError(f"bad {what} '{text}'\n  expected name=value, such as {example}")
        if name in found:
            raise UsageError(f"{what} '{name}' is given twice\n  leave one of them out")
        found[name] = value
    return found


def keys_of(texts: Sequence[str] | None) -> dict[str, list[str]]:
    """Reads the keys that are asked for; a name that comes again has several values.

    >>> keys_of(["currency=EUR", "currency=USD"])
    {'currency': ['EUR', 'USD']}
    """
    found: dict[str, list[str]] = {}
    for text in texts or ():
        for name, value in pairs([text], "key", "currency=EUR").items():
            found.setdefault(name, []).append(value)
    return found


def form_of(json: bool, csv: bool) -> str | None:
    """The content type that was asked for, if any."""
    if json and csv:
        raise UsageError("--json and --csv can't both be given\n  leave one of them out")
    return "application/json" if json else "text/csv" if csv else None
