"""`tarnbeck sql`: a query over views, and the cut of each."""

from __future__ import annotations

from typing import Annotated

import typer

from tarnbeck.cli import show
from tarnbeck.cli.options import FOLDER, Csv, Folder, Json, form_of
from tarnbeck.cli.place import client_of


def sql(
    text: Annotated[str, typer.Argument(metavar="QUERY", help="One SELECT over views; each view is a table.")],
    json: Json = False,
    csv: Csv = False,
    folder: Folder = FOLDER,
) -> None:
    """Ask views with SQL.

    All views of one query are read at one moment; the cut of each is shown.
    """
    from tarnbeck.serve import render

    form = form_of(json, csv)
    with client_of(folder) as client:
        answer = client.sql(text)
    if form is not None:
        show.data(render.sql_answer(answer, form))
    else:
        # By place, not by name: a query may give two columns the same name.
        columns = [column.to_pylist() for column in answer.table.columns]
        show.rows(answer.table.column_names, zip(*columns, strict=True))
    for view, cut in answer.cuts.items():
        show.remark(f"{view} is taken up to {cut}")
    for view, since in answer.kept_since.items():
        show.remark(show.kept(view, since))
    if answer.truncated:
        show.remark(f"only {answer.table.num_rows:,} rows are shown; narrow the query with a condition")
