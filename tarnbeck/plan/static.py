"""Static data of a file: rows by key that hold always, small enough to be part of what is declared."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from tarnbeck.algebra.aggregate import UNIX
from tarnbeck.errors import DeclarationError, UsageError
from tarnbeck.plan.table import table
from tarnbeck.plan.view import View
from tarnbeck.schema import ddl
from tarnbeck.schema.conform import conform
from tarnbeck.schema.ddl import arrow
from tarnbeck.schema.decode import decode
from tarnbeck.schema.decoded import RECORDS
from tarnbeck.schema.encode import to_json
from tarnbeck.schema.literal import OF_EVENTS
from tarnbeck.schema.stream import Arrival, Json, Stream

MOST_BYTES = 1 << 20
"""What static data may take in the catalog: a larger table is better a stream with a table over it."""
ALWAYS = UNIX + datetime.timedelta(microseconds=OF_EVENTS.first)
"""No event is before it, so that the rows hold for every one of them."""

Rows = Iterable[Mapping[str, Any]]


@dataclass(frozen=True)
class Static:
    """Rows that never change, as a table: what joins with a table joins with them."""

    table: View
    rows: tuple[str, ...]
    """The rows as JSON texts."""

    @property
    def name(self) -> str:
        return self.table.name

    def text(self) -> str:
        """What is kept of it in the definition of a stream; `read` is the way back."""
        keys = [key.name for key in self.table.keys if key.name in self.table.stream.schema]
        schema = str(self.table.stream.schema)
        return json.dumps({"name": self.name, "schema": schema, "key": keys, "rows": self.rows}, sort_keys=True)

    def events(self) -> pa.Table:
        """The rows in the form of events."""
        count = len(self.rows)
        columns = {
            "partition": pa.array([0] * count, pa.int32()),
            "offset": pa.array(range(count), pa.int64()),
            "timestamp": pa.array([ALWAYS] * count, pa.timestamp("us", "UTC")),
            "value": pa.array([row.encode() for row in self.rows], pa.binary()),
        }
        cells = [columns.get(field.name, pa.nulls(count, field.type)) for field in RECORDS]
        return decode(self.table.stream, pa.table(cells, schema=RECORDS)).events


def static(place: str, name: str, source: str | Path | Rows, schema: str, key: str | Sequence[str]) -> Static:
    """Static data out of a file (.csv, .json lines, .parquet), or as it is given."""
    stream = _stream(place, name, schema)
    view = table(place, name, stream, key, None, None, None)
    try:
        rows = _file(place, stream, Path(source)) if isinstance(source, (str, Path)) else source
        texts = tuple(to_json(stream, row).decode() for row in rows)
    except UsageError as wrong:
        raise DeclarationError(f"{place}: {wrong}") from None
    size = sum(map(len, texts))
    if size > MOST_BYTES:
        raise DeclarationError(
            f"{place}: its rows are too many: {size:,} bytes\n"
            f"  expected at most {MOST_BYTES:,}; for more, declare a stream with history= and a table of it"
        )
    return Static(view, texts)


@lru_cache(maxsize=64)
def read(text: str) -> Static:
    """Static data out of what a definition keeps of it."""
    found = json.loads(text)
    stream = _stream("static", found["name"], found["schema"])
    return Static(table("static", found["name"], stream, found["key"], None, None, None), tuple(found["rows"]))


def _stream(place: str, name: str, schema: str) -> Stream:
    return Stream(name, ddl.parse(schema, place=place), Arrival(), None, "", Json(), 1, create=False)


def _file(place: str, stream: Stream, path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        raise DeclarationError(f"{place}: no file '{path}'\n  expected a file with its rows")
    if path.stat().st_size > 8 * MOST_BYTES:
        raise DeclarationError(f"{place}: '{path}' is too large\n  expected at most {8 * MOST_BYTES:,} bytes")
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise DeclarationError(f"{place}: can't read '{path}'\n  expected one of: {', '.join(_READERS)}")
    try:
        found = reader(path, {column.name: arrow(column.type) for column in stream.schema})
    except pa.ArrowInvalid as wrong:
        raise DeclarationError(f"{place}: '{path}': {wrong}\n  declared: {stream.schema}") from None
    missing = [column.name for column in stream.schema if column.name not in found.column_names]
    if missing:
        raise DeclarationError(f"{place}: '{path}' has no column '{missing[0]}'\n  it has: {found.column_names}")
    chosen: list[dict[str, Any]] = conform(stream, found.select(list(stream.schema.names))).to_pylist()
    return chosen


def _csv(path: Path, types: Mapping[str, pa.DataType]) -> pa.Table:
    from pyarrow import csv

    return csv.read_csv(path, convert_options=csv.ConvertOptions(column_types=types, strings_can_be_null=True))


def _json(path: Path, types: Mapping[str, pa.DataType]) -> pa.Table:
    from pyarrow import json as lines

    return lines.read_json(path, parse_options=lines.ParseOptions(explicit_schema=pa.schema(list(types.items()))))


def _parquet(path: Path, _: Mapping[str, pa.DataType]) -> pa.Table:
    from pyarrow import parquet

    return parquet.read_table(path)


_READERS: dict[str, Callable[[Path, Mapping[str, pa.DataType]], pa.Table]] = {
    ".csv": _csv,
    ".json": _json,
    ".jsonl": _json,
    ".ndjson": _json,
    ".parquet": _parquet,
}
