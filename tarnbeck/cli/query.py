"""`tarnbeck query`: the rows of a view, and which events they cover."""

from __future__ import annotations

from typing import Annotated

import typer

from tarnbeck.cli import complete, show
from tarnbeck.cli.options import FOLDER, Csv, Folder, Json, Keys, Last, Per, form_of, keys_of
from tarnbeck.cli.place import client_of

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


def query(
    view: Annotated[str, typer.Argument(metavar="VIEW", help="The view to ask.", autocompletion=complete.views)],
    keys: Keys = None,
    last: Last = None,
    against: Annotated[
        str | None, typer.Option("--against", metavar="LENGTH", help="Compare --last with this, key by key.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="From here on, such as 2026-01-31T12:00:00Z.")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Up to here.")] = None,
    as_of: Annotated[
        str | None, typer.Option("--as-of", metavar="TIME", help="Of a table: what was true at this time.")
    ] = None,
    known: Annotated[
        str | None, typer.Option("--known", metavar="TIME", help="Of a table: what had been received by this time.")
    ] = None,
    at_cut: Annotated[
        str | None, typer.Option("--at-cut", metavar="CUT", help="Of a table: what was known at this cut: '0:5 1:7'.")
    ] = None,
    per: Per = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many rows, the newest.")] = 10_000,
    by: By = None,
    every: Every = None,
    fill: Annotated[bool, typer.Option("--fill", help="Also the windows without events.")] = False,
    cumulative: Annotated[
        bool, typer.Option("--cumulative", help="Each window with all before it in the range.")
    ] = False,
    having: Annotated[
        str | None, typer.Option("--having", metavar="CONDITION", help="Only rows for which this is true.")
    ] = None,
    top: Annotated[
        str | None, typer.Option("--top", metavar="COLUMN", help="The greatest of this column first; see --limit.")
    ] = None,
    ask: Annotated[
        list[str] | None,
        typer.Option("--ask", metavar="OUTPUT=VALUE", help="What an output is asked about, such as p=0.99."),
    ] = None,
    bounds: Annotated[bool, typer.Option("--bounds", help="Also the bounds of every estimate.")] = False,
    json: Json = False,
    csv: Csv = False,
    folder: Folder = FOLDER,
) -> None:
    """Ask a view.

    The answer holds every event up to the cut that it names, the last second included.
    """
    from tarnbeck.serve import render

    form = form_of(json, csv)
    chosen = keys_of(keys)
    with client_of(folder) as client:
        answer = client.query(
            view,
            last=last,
            against=against,
            as_of=as_of,
            known=known,
            at_cut=at_cut,
            since=since,
            until=until,
            per=per,
            limit=limit,
            keys=chosen,
            by=by,
            every=every,
            fill=fill,
            cumulative=cumulative,
            having=having,
            top=top,
            ask=ask,
            bounds=bounds,
        )
    if form is not None:
        show.data(render.answer(answer, form))
    else:
        show.rows(answer.names, answer.rows, spare="end")
    show.remark(show.covers(answer.origin, answer.cut))
    if answer.kept_since is not None and answer.reaches_past:
        show.remark(show.kept(view, answer.kept_since))
    if answer.truncated:
        which = "newest" if top is None else "first"
        show.remark(f"only the {which} {len(answer.rows):,} rows are shown; for more: --limit")
