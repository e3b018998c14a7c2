"""`tarnbeck query`: the rows of a view, and which events they cover."""

from __future__ import annotations

from typing import Annotated

import typer

from tarnbeck.cli import complete, show
from tarnbeck.cli.options import (
    FOLDER,
    Ask,
    Bounds,
    By,
    Csv,
    Cumulative,
    Every,
    Fill,
    Folder,
    Having,
    Json,
    Keys,
    Last,
    Per,
    Since,
    Top,
    form_of,
    keys_of,
)
from tarnbeck.cli.place import client_of


def query(
    view: Annotated[str, typer.Argument(metavar="VIEW", help="The view to ask.", autocompletion=complete.views)],
    keys: Keys = None,
    last: Last = None,
    against: Annotated[
        str | None, typer.Option("--against", metavar="LENGTH", help="Compare --last with this, key by key.")
    ] = None,
    since: Since = None,
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
    fill: Fill = False,
    cumulative: Cumulative = False,
    having: Having = None,
    top: Top = None,
    ask: Ask = None,
    bounds: Bounds = False,
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
