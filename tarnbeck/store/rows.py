"""Rows of partials in SQLite: from Arrow, merged into a table as absolute states, and read back unchanged."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from tarnbeck.algebra.state import Raw
from tarnbeck.errors import StoreError
from tarnbeck.plan.layout import Layout
from tarnbeck.schema.types import Physical
from tarnbeck.store import keys

Place = tuple[int, bytes, int]
"""Level, encoded key, pane: where a row stands inside its part."""
States = tuple[Raw, ...]
NOTHING: Mapping[Place, States] = MappingProxyType({})

GENERATION = "rows"
"""The table of a generation's file."""
WHOLE = 0
"""The part under which a generation keeps its rows; in an epochs' table the part is the epoch's id."""
_LOOKUPS = 300
BLOCK, FEW = 1000, 8
"""Rows that are fetched at once: many of them, or of those that are read only as far as needed."""
_MOST = 1 << 63


@dataclass(frozen=True)
class Shape:
    """The forms of a table's key and state columns."""

    keys: tuple[Physical, ...]
    states: tuple[Physical, ...]


@dataclass(frozen=True)
class Statements:
    """The SQL of one table; names are made of numbers only, never of what a user wrote."""

    create: str
    write: str
    lookup: str
    columns: str


@lru_cache(maxsize=4096)
def statements(table: str, keys: int, states: int) -> Statements:
    """The SQL of a table with so many columns of keys and of states."""
    ks = [f"k{i}" for i in range(keys)]
    ss = [f"s{i}" for i in range(states)]
    names = ["part", "level", "key", "pane", *ks, *ss]
    # STRICT with ANY: no column affinity may turn "123" into 123 or 1.0 into 1.
    typed = ["part INTEGER", "level INTEGER", "key BLOB", "pane INTEGER", *(f"{name} ANY" for name in ks + ss)]
    update = ", ".join(f"{name} = excluded.{name}" for name in ss) or "part = part"
    found = ", ".join(["w.i", *(f"t.{name}" for name in ss)])
    return Statements(
        create=f"CREATE TABLE {table} ({', '.join(typed)}, PRIMARY KEY (part, level, key, pane)) STRICT, WITHOUT ROWID",
        write=f"INSERT INTO {table} VALUES ({', '.join('?' * len(names))}) "  # noqa: S608
        f"ON CONFLICT DO UPDATE SET {update}",
        lookup=f"WITH wanted (i, level, key, pane) AS (VALUES {{}}) SELECT {found} FROM wanted AS w "  # noqa: S608
        f"CROSS JOIN {table} AS t ON t.part = ? AND t.level = w.level AND t.key = w.key AND t.pane = w.pane",
        columns=", ".join([*ks, "level", "pane", *ss]),
    )


def table_of(version: int) -> str:
    """The table that holds the rows of a version's epochs."""
    return f"epoch_rows_{version:d}"


def _plain(column: pa.ChunkedArray, physical: Physical) -> list[Raw]:
    """A column's values as Python values; integers without nulls take the fast way through numpy."""
    if column.null_count or physical not in _NUMPY:
        values: list[Any] = column.to_pylist()
        return [None if v is None else int(v) for v in values] if physical is Physical.WIDE else values
    return _NUMPY[physical](column)


def _wide_values(column: pa.ChunkedArray) -> list[Raw]:
    """Decimals as integers: when the upper half only repeats the sign, the lower 64 bits are the number."""
    found: list[Raw] = []
    for piece in column.chunks:
        halves = np.frombuffer(piece.buffers()[1], dtype=np.int64)[2 * piece.offset : 2 * (piece.offset + len(piece))]
        low, high = halves[0::2], halves[1::2]
        if bool((low >> 63 == high).all()):
            found.extend(low.tolist())
        else:
            found.extend(int(value) for value in piece.to_pylist())
    return found


_NUMPY: dict[Physical, Callable[[pa.ChunkedArray], list[Raw]]] = {
    Physical.INT: lambda column: column.to_numpy().tolist(),
    Physical.REAL: lambda column: column.to_numpy().tolist(),
    Physical.WIDE: _wide_values,
}


@dataclass(frozen=True)
class Partial:
    """A partial ready to be merged: states by place, and the readable keys behind each encoded key."""

    states: dict[Place, tuple[Raw, ...]]
    keys: dict[bytes, tuple[Raw, ...]]


def from_arrow(table: pa.Table, layout: Layout) -> Partial:
    """Take a partial apart and merge the rows that share a place, as those of several tasks do."""
    if not table.schema.equals(layout.arrow):
        raise StoreError(
            "store: a partial does not have the columns of its layout\n"
            f"  expected: {_columns(layout.arrow)}\n  found: {_columns(table.schema)}"
        )
    columns = [
        _plain(table.column(f"{kind}{i}"), physical)
        for kind, physicals in (("k", layout.keys), ("s", layout.states))
        for i, physical in enumerate(physicals)
    ]
    depth = len(layout.keys)
    key_rows: list[Any] = list(zip(*columns[:depth], strict=True)) if depth else [()] * table.num_rows
    encoded = list(map(keys.encoder(layout.keys), key_rows))
    level, pane = (_plain(table.column(name), Physical.INT) for name in ("level", "pane"))
    places: list[Any] = list(zip(level, encoded, pane, strict=True))
    rows: list[Any] = list(zip(*columns[depth:], strict=True)) if layout.states else [()] * table.num_rows
    states: dict[Place, tuple[Raw, ...]] = dict(zip(places, rows, strict=True))
    if len(states) < len(places):
        states = _fold(places, rows, layout)
    return Partial(states, dict(zip(encoded, key_rows, strict=True)))


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)


def _fold(places: list[Place], rows: list[tuple[Raw, ...]], layout: Layout) -> dict[Place, tuple[Raw, ...]]:
    states: dict[Place, tuple[Raw, ...]] = {}
    for place, row in zip(places, rows, strict=True):
        old = states.get(place)
        states[place] = row if old is None else layout.merge(old, row)
    return states


def merge_into(
    con: sqlite3.Connection,
    table: str,
    part: int,
    layout: Layout,
    partial: Partial,
    known: Mapping[Place, States] = NOTHING,
    all_known: bool = False,
) -> dict[Place, States]:
    """Merge a partial with the states it touches, write absolute rows, and give them back.

    States that the caller knows are not read; if it knows all of the part's, none are.
    """
    sql = statements(table, len(layout.keys), len(layout.states))
    merge, merged = layout.merge, dict(partial.states)
    # In the table's own order each page is visited once.
    places = sorted(merged)
    for place in places if known else ():
        if (old := known.get(place)) is not None:
            merged[place] = merge(old, merged[place])
    unknown = [] if all_known else [place for place in places if place not in known]
    for place, old in _existing(con, sql, part, unknown, layout.states):
        merged[place] = merge(old, merged[place])
    states = _stored([merged[place] for place in places], layout.states)
    readable = dict(zip(partial.keys, _stored(list(partial.keys.values()), layout.keys), strict=True))
    con.executemany(
        sql.write, [(part, *place, *readable[place[1]], *row) for place, row in zip(places, states, strict=True)]
    )
    return merged


def _existing(
    con: sqlite3.Connection, sql: Statements, part: int, places: list[Place], physicals: tuple[Physical, ...]
) -> Iterator[tuple[Place, tuple[Raw, ...]]]:
    """The rows there are at these places, told by their number: making keys anew would cost more than the search."""
    for first in range(0, len(places), _LOOKUPS):
        wanted = places[first : first + _LOOKUPS]
        query = sql.lookup.format(",".join([f"({i},?,?,?)" for i in range(len(wanted))]))
        found = con.execute(query, [*chain.from_iterable(wanted), part]).fetchall()
        for row in _restored(found, physicals, 1):
            yield wanted[row[0]], row[1:]


def _stored(rows: list[tuple[Raw, ...]], physicals: tuple[Physical, ...]) -> list[tuple[Raw, ...]]:
    """Rows as SQLite can hold them: integers above 64 bits as digits, NaN (it would become null) as text."""
    for i, physical in enumerate(physicals):
        if physical in _TO_SQL and not _FITS[physical]([row[i] for row in rows]):
            change = _TO_SQL[physical]
            rows = [(*row[:i], change(row[i]), *row[i + 1 :]) for row in rows]
    return rows


def _wide_fits(column: Sequence[Any]) -> bool:
    present = column if None not in column else [value for value in column if value is not None]
    return not present or (max(present) < _MOST and min(present) >= -_MOST)


def _real_fits(column: Sequence[Any]) -> bool:
    """A sum is NaN if any of its terms is; infinities of both signs are looked at again one by one."""
    total = sum(column if None not in column else (value for value in column if value is not None))
    return bool(total == total)


def _wide_to_sql(value: Any) -> Raw:
    return value if value is None or -_MOST <= value < _MOST else str(value)


def _real_to_sql(value: Any) -> Raw:
    return value if value == value else "nan"


_FITS: dict[Physical, Callable[[Sequence[Any]], bool]] = {Physical.WIDE: _wide_fits, Physical.REAL: _real_fits}
_TO_SQL: dict[Physical, Callable[[Any], Raw]] = {Physical.WIDE: _wide_to_sql, Physical.REAL: _real_to_sql}
_FROM_TEXT: dict[Physical, Callable[[str], Raw]] = {Physical.WIDE: int, Physical.REAL: float}


def _restored(rows: list[Any], physicals: tuple[Physical, ...], skip: int = 0) -> list[Any]:
    """Undo `_stored` on rows whose columns from `skip` on have these forms."""
    for i, physical in enumerate(physicals, skip):
        if physical in _FROM_TEXT and str in {type(row[i]) for row in rows}:
            back = _FROM_TEXT[physical]
            rows = [(*row[:i], back(row[i]) if type(row[i]) is str else row[i], *row[i + 1 :]) for row in rows]
    return rows


def stored_value(value: Raw, physical: Physical) -> Raw:
    """One value as the store keeps it, to compare a column with."""
    return _stored([(value,)], (physical,))[0][0]


def select(
    con: sqlite3.Connection,
    table: str,
    part: int,
    shape: Shape,
    level: int,
    key: tuple[Raw, ...],
    where: Mapping[int, Raw],
    panes: tuple[int | None, int | None],
) -> sqlite3.Cursor:
    """A cursor over the rows of one part; `fetch` reads them."""
    query, values = _query(table, shape, part, level, key, where, panes)
    return con.execute(query, values)


def backwards(
    con: sqlite3.Connection,
    table: str,
    part: int,
    shape: Shape,
    level: int,
    key: tuple[Raw, ...],
    below: tuple[Raw, ...],
) -> sqlite3.Cursor:
    """A cursor over the rows of these first keys, from the last to the first, whose next keys are below others."""
    first = keys.encode(key, shape.keys[: len(key)])
    end = keys.encode((*key, *below), shape.keys[: len(key) + len(below)]) if below else keys.after(first)
    return con.execute(_backwards(table, len(shape.keys), len(shape.states)), (part, level, first, end))


@lru_cache(maxsize=1024)
def _backwards(table: str, keys: int, states: int) -> str:
    columns = statements(table, keys, states).columns
    where = "t.part = ? AND t.level = ? AND t.key >= ? AND t.key < ?"
    return f"SELECT {columns} FROM {table} AS t WHERE {where} ORDER BY t.key DESC"  # noqa: S608


def fetch(cursor: sqlite3.Cursor, shape: Shape, most: int = BLOCK) -> Iterator[tuple[Raw, ...]]:
    """Keys, level, pane and states of each row; fails, rather than ends, when the cursor was closed meanwhile."""
    physicals = (*shape.keys, Physical.INT, Physical.INT, *shape.states)
    while block := cursor.fetchmany(most):
        yield from _restored(block, physicals)


def _query(
    table: str,
    shape: Shape,
    part: int,
    level: int,
    key: tuple[Raw, ...],
    where: Mapping[int, Raw],
    panes: tuple[int | None, int | None],
) -> tuple[str, Sequence[Raw]]:
    """The SQL of a read and its values, in the order of the question marks."""
    scope: list[Raw] = [part, level]
    bounds: list[Raw] = []
    if key or not shape.keys:
        encoded = keys.encode(key, shape.keys[: len(key)])
        bounds = [encoded] if len(key) == len(shape.keys) else [encoded, keys.after(encoded)]
    places = tuple(sorted(where))
    others = [*panes, *(stored_value(where[place], shape.keys[place]) for place in places)]
    values = [*scope, *bounds, *(value for value in others[:2] if value is not None), *others[2:]]
    given = panes[0] is not None, panes[1] is not None
    if any(given) and len(bounds) != 1:
        values = [*scope, *bounds, *scope, *bounds[1:], *values]
    return _select(table, len(shape.keys), len(shape.states), len(bounds), given, places), values


@lru_cache(maxsize=1024)
def _select(table: str, keys: int, states: int, bounds: int, panes: tuple[bool, bool], places: tuple[int, ...]) -> str:
    tests = ["t.part = ?", "t.level = ?", *_KEY_TESTS[bounds]]
    tests += [test for test, given in zip(("t.pane >= ?", "t.pane < ?"), panes, strict=True) if given]
    tests += [f"t.k{place:d} IS ?" for place in places]
    columns, condition = statements(table, keys, states).columns, " AND ".join(tests)
    if any(panes) and bounds != 1:
        return _by_key(table, columns, condition, bool(bounds))
    return f"SELECT {columns} FROM {table} AS t WHERE {condition}"  # noqa: S608


_KEY_TESTS: tuple[tuple[str, ...], ...] = ((), ("t.key = ?",), ("t.key >= ?", "t.key < ?"))
"""How keys are compared when there is no bound, the whole key, or the first and last of a range."""


def _by_key(table: str, columns: str, condition: str, bounded: bool) -> str:
    """Go from key to key and seek the panes of each: a range of panes over all keys never reads whole histories."""
    named = ", ".join(f"t.{name}" for name in columns.split(", "))
    first = "t.key >= ? AND t.key < ?" if bounded else "TRUE"
    following = "t.key < ?" if bounded else "TRUE"
    seek = f"SELECT min(t.key) FROM {table} AS t WHERE t.part = ? AND t.level = ? AND"  # noqa: S608
    return (
        f"WITH RECURSIVE each (key) AS ({seek} {first} UNION ALL "  # noqa: S608
        f"SELECT ({seek} t.key > each.key AND {following}) FROM each WHERE each.key IS NOT NULL) "
        f"SELECT {named} FROM each CROSS JOIN {table} AS t ON t.key = each.key AND {condition}"
    )


def newest(con: sqlite3.Connection, table: str, part: int) -> int | None:
    """The newest pane of a part's first level: the last one of each key is sought, so long histories are not read."""
    here = f"FROM {table} AS t WHERE t.part = :part AND t.level = 0"
    query = (
        f"WITH RECURSIVE each (key) AS (SELECT min(t.key) {here} UNION ALL "  # noqa: S608
        f"SELECT (SELECT min(t.key) {here} AND t.key > each.key) FROM each WHERE each.key IS NOT NULL) "
        f"SELECT max((SELECT max(t.pane) {here} AND t.key = each.key)) FROM each"
    )
    (found,) = con.execute(query, {"part": part}).fetchone()
    return None if found is None else int(found)


def newest_of_epoch(con: sqlite3.Connection, table: str, epoch: int) -> int | None:
    """The same of an epoch, which its writer has noted; a store that is older than these notes is searched."""
    (noted,) = con.execute("SELECT newest FROM epochs WHERE id = ?", (epoch,)).fetchone() or (None,)
    return newest(con, table, epoch) if noted is None else int(noted)


def note_newest(con: sqlite3.Connection, table: str, epoch: int, partial: Partial) -> None:
    """Notes the newest pane of an epoch before a partial is merged into it: keys may be too many to search them."""
    before = newest_of_epoch(con, table, epoch)
    panes = [pane for level, _, pane in partial.states if level == 0]
    found = max(panes if before is None else [before, *panes], default=None)
    con.execute("UPDATE epochs SET newest = ? WHERE id = ?", (found, epoch))
