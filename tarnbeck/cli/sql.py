"""`tarnbeck sql`: a query over views, and the cut of each."""

from __future__ import annotations

from typing import Annotated

import typer

from tarnbeck.cli import show
from tarnbeck.cli.options import FOLDER, Csv, Folder, Json, one_of


def sql(
    text: Annotated[str, typer.Argument(metavar="QUERY", help="One SELECT over views; each view is a table.")],
    json: Json = False,
    csv: Csv = False,
    folder: Folder = FOLDER,
) -> None:
    """Ask views with SQL.

    All views of one query are read at one moment; the cut of each is shown.
    """
    from tarnbeck.serve.client import connect

    one_of(json, csv)
    with connect(folder) as client:
        answer = client.sql(text)
    cuts = {view: str(cut) for view, cut in answer.cuts.items()}
    if json:
        rows = answer.table.to_pylist()
        show.say(show.as_json({"cuts": cuts, "truncated": answer.truncated, "rows": rows}))
        return
    names = answer.table.column_names
    # By place, not by name: a query may give two columns the same name.
    found = list(zip(*(column.to_pylist() for column in answer.table.columns), strict=True))
    if csv:
        typer.echo(show.as_csv(names, found), nl=False)
    else:
        show.rows(names, found)
    tell = show.say if show.terminal() and not csv else show.note
    for view, cut in cuts.items():
        tell(f"{view}: up to {cut}")
    if answer.truncated:
        tell(f"only {len(found):,} rows are shown; add a LIMIT or a condition")
