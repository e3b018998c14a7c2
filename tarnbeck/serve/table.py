"""Rows as Arrow tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from tarnbeck.schema import ddl
from tarnbeck.schema.types import Type


def of_rows(columns: Sequence[tuple[str, Type]], rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    """Rows as an Arrow table of these columns."""
    schema = pa.schema([(name, ddl.arrow(type_)) for name, type_ in columns])
    found = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = [pa.array(list(values), field.type) for values, field in zip(found, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)
