"""Rows as Arrow tables, and the table that answers a SQL query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tarnbeck.cut import Cut
from tarnbeck.schema import ddl
from tarnbeck.schema.types import Type

if TYPE_CHECKING:
    import pandas as pd


def of_rows(columns: Sequence[tuple[str, Type]], rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    """Rows as an Arrow table of these columns."""
    schema = pa.schema([(name, ddl.arrow(type_)) for name, type_ in columns])
    found = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = [pa.array(list(values), field.type) for values, field in zip(found, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


@dataclass(frozen=True)
class SqlAnswer:
    """The result of a query, and the cut of each view in it."""

    table: pa.Table
    cuts: Mapping[str, Cut]
    truncated: bool
    kept_since: Mapping[str, int] = field(default_factory=dict)
    """Of views that were asked for windows that they no longer keep: from when on they do."""

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """Names and Arrow types."""
        return tuple((field.name, str(field.type)) for field in self.table.schema)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.dicts())

    def dicts(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.table.to_pylist()
        return rows

    def arrow(self) -> pa.Table:
        return self.table

    def pandas(self) -> pd.DataFrame:
        return self.table.to_pandas()
