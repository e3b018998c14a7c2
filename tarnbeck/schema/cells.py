"""Arrow cells as the JSON texts that they stand for: the meaning of an event that comes in an Arrow table."""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as of

Texts = list[str | None]
"""A JSON text for each cell; None for a null, which is left out of an event as an empty cell of a CSV file is."""

_UNIX = dt.datetime(1970, 1, 1)
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_DIGITS = {32: 9, 64: 18, 128: 38, 256: 76}
"""Bits of a decimal -> its digits at the most."""
_ENCODER = json.JSONEncoder(ensure_ascii=False)
NUMBER = 160
"""Characters that no number, time or date exceeds: 76 digits of a decimal, and as many zeros behind them."""


def readable(kind: pa.DataType) -> bool:
    """Whether values of a type can be written as JSON; UnicodeDecodeError if a name in it is no text."""
    _names(kind)
    return writer(kind) is not None and all(readable(inner) for inner in _inner(kind))


def _names(kind: pa.DataType) -> list[str]:
    """What pyarrow decodes only when it is asked for it."""
    return [kind.field(at).name for at in range(kind.num_fields)] + ([kind.tz] if of.is_timestamp(kind) else [])


def objects(columns: pa.Table) -> list[bytes]:
    """The JSON object of each row."""
    named = [(f"{_ENCODER.encode(name)}:", texts(each.combine_chunks())) for name, each in _columns(columns)]
    rows: list[list[str]] = [[] for _ in range(columns.num_rows)]
    for name, found in named:
        for row, text in zip(rows, found, strict=True):
            if text is not None:
                row.append(name + text)
    return [("{" + ",".join(row) + "}").encode() for row in rows]


def texts(column: pa.Array) -> Texts:
    """The JSON text of each cell."""
    write = writer(column.type)
    if write is None:
        raise TypeError(f"{column.type} can't be written as JSON")
    return write(column)


def longest(column: pa.Array) -> int:
    """A bound of the bytes that the JSON text of any cell has; nothing is written to find it."""
    kind = column.type
    if of.is_string(kind) or of.is_large_string(kind):
        # The longest escape of one byte is \\u001f.
        return 6 * (pc.max(pc.binary_length(column)).as_py() or 0) + 2
    if of.is_binary(kind) or of.is_large_binary(kind) or of.is_fixed_size_binary(kind):
        return 2 * (pc.max(pc.binary_length(column)).as_py() or 0) + 6
    if of.is_struct(kind):
        return sum(6 * len(kind.field(at).name) + 6 + longest(column.field(at)) for at in range(kind.num_fields))
    if of.is_dictionary(kind):
        return longest(column.dictionary)
    if of.is_map(kind):
        return 2 + _most(column) * (longest(column.keys) + longest(column.items) + 2)
    if is_list(kind):
        return 2 + _most(column) * (longest(column.flatten()) + 1)
    return NUMBER


def _most(column: pa.Array) -> int:
    """Elements of the longest list or map."""
    if of.is_fixed_size_list(column.type):
        return int(column.type.list_size)
    if of.is_map(column.type):
        return int(np.diff(column.offsets.to_numpy()).max(initial=0))
    return int(pc.max(pc.list_value_length(column)).as_py() or 0)


def _columns(table: pa.Table) -> Iterator[tuple[str, pa.ChunkedArray]]:
    """By place, because two columns may have one name."""
    return zip(table.column_names, table.columns, strict=True)


def _inner(kind: pa.DataType) -> list[pa.DataType]:
    return [kind.field(at).type for at in range(kind.num_fields)] + (
        [kind.value_type] if of.is_dictionary(kind) else []
    )


def writer(kind: pa.DataType) -> Callable[[pa.Array], Texts] | None:
    """What writes the cells of a type, if anything does."""
    return next((write for fits, write in WRITERS if fits(kind)), None)


def _nothing(column: pa.Array) -> Texts:
    return [None] * len(column)


def _booleans(column: pa.Array) -> Texts:
    return [None if value is None else "true" if value else "false" for value in column.to_pylist()]


def _integers(column: pa.Array) -> Texts:
    return [None if value is None else str(value) for value in column.to_pylist()]


def _floats(column: pa.Array) -> Texts:
    return [None if value is None else _float(value) for value in column.cast(pa.float64()).to_pylist()]


def _float(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _decimals(column: pa.Array) -> Texts:
    return [None if value is None else format(value, "f") for value in column.to_pylist()]


def _strings(column: pa.Array) -> Texts:
    return [None if value is None else _ENCODER.encode(value) for value in column.to_pylist()]


def _binaries(column: pa.Array) -> Texts:
    return [None if value is None else f'"{base64.b64encode(value).decode()}"' for value in column.to_pylist()]


def _dates(column: pa.Array) -> Texts:
    return [None if days is None else _date(days) for days in column.cast(pa.date32()).cast(pa.int32()).to_pylist()]


def _date(days: int) -> str:
    try:
        return f'"{(_UNIX + dt.timedelta(days=days)).date()}"'
    except OverflowError:
        return f'"{days} days since 1970"'


def _times(column: pa.Array) -> Texts:
    per, zone = _PER_SECOND[column.type.unit], "Z" if column.type.tz else ""
    values = column.cast(pa.int64()).to_pylist()
    return [None if value is None else _time(value, per, zone) for value in values]


def _time(value: int, per: int, zone: str) -> str:
    """ISO 8601 with six digits, or nine if they are needed; a time that it can't tell is told as a number."""
    micros, finer = divmod(value * 1_000_000, per)
    try:
        text = (_UNIX + dt.timedelta(microseconds=micros)).isoformat(timespec="microseconds")
    except OverflowError:
        return f'"{value}/{per} s since 1970"'
    return f'"{text}{f"{finer * 1_000 // per:03d}" if finer else ""}{zone}"'


def _lists(column: pa.Array) -> Texts:
    elements = iter([text or "null" for text in texts(column.flatten())])
    lengths = pc.list_value_length(column).to_pylist()
    return [None if length is None else "[" + ",".join(_take(elements, length)) + "]" for length in lengths]


def _take(found: Iterator[str], count: int) -> list[str]:
    return [next(found) for _ in range(count)]


def _structs(column: pa.Array) -> Texts:
    named = [(column.type.field(at).name, column.field(at)) for at in range(column.type.num_fields)]
    members = [(f"{_ENCODER.encode(name)}:", texts(each)) for name, each in named]
    found: Texts = []
    for at, there in enumerate(column.is_valid().to_pylist()):
        pairs = [name + text for name, each in members if (text := each[at]) is not None]
        found.append("{" + ",".join(pairs) + "}" if there else None)
    return found


def _maps(column: pa.Array) -> Texts:
    found: Texts = []
    for keys in column:
        if not keys.is_valid:
            found.append(None)
            continue
        entries = keys.values
        pairs = zip(texts(entries.field(0)), texts(entries.field(1)), strict=True)
        found.append("{" + ",".join(f"{key}:{value or 'null'}" for key, value in pairs) + "}")
    return found


def _dictionaries(column: pa.Array) -> Texts:
    words = texts(column.dictionary)
    return [None if at is None else words[at] for at in column.indices.to_pylist()]


def is_list(kind: pa.DataType) -> bool:
    return bool(of.is_list(kind) or of.is_large_list(kind) or of.is_fixed_size_list(kind))


def is_binary(kind: pa.DataType) -> bool:
    return bool(of.is_binary(kind) or of.is_large_binary(kind) or of.is_fixed_size_binary(kind))


def is_string(kind: pa.DataType) -> bool:
    return bool(of.is_string(kind) or of.is_large_string(kind))


def _is_decimal(kind: pa.DataType) -> bool:
    """Whether its values can be told: a scale may be any number, and pyarrow checks it only when it writes a value."""
    return bool(of.is_decimal(kind) and abs(kind.scale) <= _DIGITS[kind.bit_width])


def _is_text_map(kind: pa.DataType) -> bool:
    return bool(of.is_map(kind) and is_string(kind.key_type))


WRITERS: list[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array], Texts]]] = [
    (of.is_null, _nothing),
    (of.is_boolean, _booleans),
    (of.is_integer, _integers),
    (of.is_floating, _floats),
    (_is_decimal, _decimals),
    (is_string, _strings),
    (is_binary, _binaries),
    (of.is_date, _dates),
    (of.is_timestamp, _times),
    (_is_text_map, _maps),
    (is_list, _lists),
    (of.is_struct, _structs),
    (of.is_dictionary, _dictionaries),
]
