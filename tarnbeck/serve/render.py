"""Answers as bytes: JSON, CSV, an Arrow stream or Parquet, as the client accepts."""

from __future__ import annotations

import base64
import csv
import datetime
import io
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal as Number
from typing import Any

import orjson
import pyarrow as pa
from pyarrow import parquet

from tarnbeck.schema.packs import ARROW
from tarnbeck.schema.types import Decimal
from tarnbeck.serve import values
from tarnbeck.serve.answer import Answer
from tarnbeck.serve.moment import told
from tarnbeck.serve.table import SqlAnswer
from tarnbeck.serve.wire import Facts, cut_to_json, facts, to_stream

JSON = "application/json"
CSV = "text/csv"
PARQUET = "application/vnd.apache.parquet"
KINDS = (JSON, ARROW, CSV, PARQUET)

_OPTIONS = orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS


def to_json(found: Any) -> bytes:
    """JSON with times in UTC as ISO 8601, decimals as exact text, bytes as base64."""
    return orjson.dumps(found, default=_plain, option=_OPTIONS)


def _plain(value: Any) -> Any:
    if isinstance(value, Number):
        return format(value, "f")
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value)


def accepted(header: str) -> str | None:
    """The kind of content that an Accept header likes best.

    >>> accepted("text/csv;q=0.5, application/vnd.apache.arrow.stream"), accepted("*/*"), accepted("")
    ('application/vnd.apache.arrow.stream', 'application/json', 'application/json')
    """
    wishes = []
    for part in header.split(",") if header.strip() else ["*/*"]:
        kind, *parameters = (piece.strip() for piece in part.lower().split(";"))
        quality = next((p.removeprefix("q=") for p in parameters if p.startswith("q=")), "1")
        wishes.append((_weight(quality), kind))
    for weight, kind in sorted(wishes, key=lambda wish: -wish[0]):
        fits = [known for known in KINDS if kind in (known, "*/*", known.split("/")[0] + "/*")]
        if fits and weight > 0:
            return fits[0]
    return None


def _weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def answer(given: Answer, kind: str) -> bytes:
    """An answer as content of this kind."""
    if kind == ARROW:
        return to_stream(given.arrow(), facts(given))
    if kind == CSV:
        return _csv(given.names, given.rows)
    if kind == PARQUET:
        return _parquet(given.arrow())
    known = facts(given)
    known |= {name: _moment(known[name]) for name in ("since", "until", "against", "kept_since")}
    names = given.names
    return to_json(known | {"rows": [dict(zip(names, row, strict=True)) for row in exact(given)]})


def _moment(micros: int | None) -> datetime.datetime | None:
    return None if micros is None else told(micros)


def moment(micros: int) -> str:
    """A moment as JSON writes it, for headers.

    >>> moment(86_400_000_000)
    '1970-01-02T00:00:00Z'
    """
    return to_json(_moment(micros)).decode().strip('"')


def exact(given: Answer) -> Iterable[Sequence[Any]]:
    """Rows whose decimals are text: sums of integers may be longer than any JSON reader's numbers."""
    decimals = {i: _digits(type_) for i, (_, type_) in enumerate(given.columns) if isinstance(type_, Decimal)}
    if not decimals or not given.rows:
        return given.rows
    columns: list[Iterable[Any]] = list(zip(*given.rows, strict=True))
    for place, to_text in decimals.items():
        columns[place] = [None if value is None else to_text(value) for value in columns[place]]
    return zip(*columns, strict=True)


def _digits(type_: Decimal) -> Callable[[Any], str]:
    """Python's own text, which is fast, unless it could be in powers of ten."""
    return str if type_.scale <= 6 else values.text


def sql_facts(given: SqlAnswer) -> Facts:
    """All that the answer to a SQL query says but its rows."""
    return {
        "columns": [{"name": name, "type": type_} for name, type_ in given.columns],
        "cuts": {view: cut_to_json(cut) for view, cut in given.cuts.items()},
        "kept_since": dict(given.kept_since),
        "truncated": given.truncated,
    }


def sql_answer(given: SqlAnswer, kind: str) -> bytes:
    """The answer to a SQL query as content of this kind."""
    if kind == ARROW:
        return to_stream(given.table, sql_facts(given))
    if kind == PARQUET:
        return _parquet(given.table)
    if kind == CSV:
        columns = [column.to_pylist() for column in given.table.columns]
        return _csv([name for name, _ in given.columns], zip(*columns, strict=True))
    kept = {view: _moment(since) for view, since in given.kept_since.items()}
    return to_json(sql_facts(given) | {"kept_since": kept, "rows": given.dicts()})


def _parquet(found: pa.Table) -> bytes:
    made = io.BytesIO()
    parquet.write_table(found, made, compression="zstd")
    return made.getvalue()


def _csv(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """RFC 4180 with a header; null is an empty cell."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(names)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue().encode()


def _cell(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.UTC).isoformat().replace("+00:00", "Z") if value.tzinfo else value.isoformat()
    return to_json(value).decode() if isinstance(value, (list, dict)) else values.text(value)
