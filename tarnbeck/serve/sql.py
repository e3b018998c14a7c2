"""SQL over views: read only, bounded, from one moment of the store, with the cut of each view."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb
import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.optimizer.scope import traverse_scope

from tarnbeck.errors import UsageError, unknown
from tarnbeck.plan.view import View, columns_of
from tarnbeck.schema import types
from tarnbeck.serve import moment, narrow
from tarnbeck.serve.answer import LIMIT, MOST, Answer, MissingError, ask, ready, view_in
from tarnbeck.serve.table import SqlAnswer, of_rows
from tarnbeck.store.protocol import Snapshot, Store
from tarnbeck.window.window import Rollup

SECONDS = 10.0
LONGEST = 100_000
"""Characters of the longest query."""
MEMORY = "512MB"

_ENGINE = {
    "threads": "2",
    "memory_limit": MEMORY,
    "temp_directory": "",
    "python_enable_replacements": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
}
_BEGINNINGS = ("SELECT", "WITH", "FROM", "(")
_FUNCTIONS = (exp.GenerateSeries, exp.Unnest)
"""What may stand in FROM beside views and subqueries: functions that read nothing."""


def query(
    store: Store, text: str, *, limit: int = LIMIT, seconds: float = SECONDS, same_cut: float | None = None
) -> SqlAnswer:
    """The answer to one SELECT over views; `same_cut` is as in `answers`."""
    if not 1 <= limit <= MOST:
        raise UsageError(f"sql: bad limit {limit}\n  expected 1 to {MOST:,} rows")
    tree = _parsed(text)
    tables = _views(tree, store)
    names = list(dict.fromkeys(map(_name, tables)))
    kept: dict[str, int] = {}
    with _engine(seconds) as engine, ready(store, names, same_cut) as snapshot:
        for number, table in enumerate(tables):
            pieces = _pieces(store, snapshot, table, engine)
            engine.register(f"_{number}", _content(view_in(store, snapshot.versions[_name(table)]), table, pieces))
            for piece in pieces:
                if piece.reaches_past:
                    kept[piece.view] = max(kept.get(piece.view, moment.EARLIEST), piece.kept_since or 0)
            # Each mention is a table of its own, because each can need another part of the view.
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(_name(table))))
            table.set("this", exp.to_identifier(f"_{number}"))
        cuts = {name: snapshot.versions[name].cut for name in names}
        table, truncated = _fetched(engine.relation(tree.sql("duckdb")), limit)
    return SqlAnswer(table, cuts, truncated, kept)


def _parsed(text: str) -> exp.Query:
    """The one query of the text; what runs is written anew from this tree, so nothing runs that was not looked at."""
    if len(text) > LONGEST:
        raise UsageError(f"sql: the query is too long\n  expected at most {LONGEST:,} characters, found {len(text):,}")
    try:
        tokens = sqlglot.tokenize(text, dialect="duckdb")
        if not tokens or tokens[0].text.upper() not in _BEGINNINGS:
            raise _refused(tokens[0].text if tokens else "nothing")
        found = [statement for statement in sqlglot.parse(text, dialect="duckdb") if statement is not None]
    except ParseError as wrong:
        raise UsageError(_syntax(wrong)) from None
    except (SqlglotError, RecursionError) as wrong:
        raise UsageError(f"sql: the query can't be read\n  {wrong}") from None
    if len(found) != 1:
        raise _refused(f"{len(found)} statements")
    (tree,) = found
    if not isinstance(tree, exp.Query):
        raise _refused(tree.key)
    forbidden = tree.find(exp.Into, exp.DML, exp.DDL, exp.Command)
    if forbidden is not None and not isinstance(forbidden, exp.Query):
        raise _refused(forbidden.key)
    return tree


def _refused(found: str) -> UsageError:
    return UsageError(f"sql: only one query can be asked, and only to read\n  expected select ..., found {found}")


def _syntax(wrong: ParseError) -> str:
    first = wrong.errors[0] if wrong.errors else {}
    near = f"{first.get('start_context') or ''}>>{first.get('highlight') or ''}<<{first.get('end_context') or ''}"
    what = str(first.get("description", "")).split("<Token")[0].rstrip(" .")
    return f"sql: line {first.get('line')}, column {first.get('col')}: {what}\n  {' '.join(near.split())}"


def _views(tree: exp.Query, store: Store) -> list[exp.Table]:
    """The tables of the tree that are views, told apart from names that WITH gives."""
    for named in (*tree.find_all(exp.Table), *(cte.args["alias"] for cte in tree.find_all(exp.CTE))):
        if isinstance(named.this, exp.Identifier):
            named.this.set("this", named.this.name.lower())
    try:
        sources = [source for scope in traverse_scope(tree) for _, source in scope.selected_sources.values()]
    except SqlglotError as wrong:
        raise UsageError(f"sql: the query can't be understood\n  {wrong}") from None
    real = {id(source) for source in sources if isinstance(source, exp.Table)}
    given = {cte.alias for cte in tree.find_all(exp.CTE)}
    known = store.aliases()
    views = []
    for table in tree.find_all(exp.Table):
        if isinstance(table.this, _FUNCTIONS):
            continue
        if isinstance(table.this, exp.Anonymous) and _name(table) in known and not table.args.get("db"):
            views.append(table)
            continue
        if not isinstance(table.this, exp.Identifier) or table.args.get("db") or table.args.get("catalog"):
            raise _foreign(table, known)
        if table.name in known and (id(table) in real or table.name not in given):
            views.append(table)
        elif table.name not in given:
            raise _foreign(table, known)
    return views


def _name(table: exp.Table) -> str:
    """The view's name, also where it is written as a function."""
    return str(table.this.name).lower() if isinstance(table.this, exp.Anonymous) else table.name


def _foreign(table: exp.Table, known: Mapping[str, int]) -> UsageError:
    text = table.sql("duckdb") if not isinstance(table.this, exp.Identifier) or table.args.get("db") else table.name
    return MissingError(unknown("sql", "view", text, known, "the application"))


def _pieces(store: Store, snapshot: Snapshot, table: exp.Table, engine: _Engine) -> list[Answer]:
    """The answers that hold the rows of a view that this table of the query can need."""
    view = view_in(store, snapshot.versions[_name(table)])
    left = MOST
    pieces = []
    for question in narrow.questions(view, table, engine.micros):
        engine.check()
        pieces.append(ask(store, snapshot, question, reach=left))
        left -= len(pieces[-1])
    return pieces


def _content(view: View, table: exp.Table, pieces: Sequence[Answer]) -> pa.Table:
    if isinstance(table.this, exp.Anonymous):
        return of_rows(pieces[0].columns, (row for piece in pieces for row in piece.rows))
    return of_rows(_columns(view), _rows(view, pieces))


def _columns(view: View) -> Sequence[tuple[str, types.Type]]:
    columns = columns_of(view)
    if not isinstance(view.window, Rollup):
        return columns
    keys = len(view.keys)
    return (*columns[:keys], (narrow.LEVEL, types.STRING), *columns[keys:])


def _rows(view: View, pieces: Sequence[Answer]) -> Iterator[tuple[Any, ...]]:
    keys, levelled = len(view.keys), isinstance(view.window, Rollup)
    for piece in pieces:
        for row in piece.rows:
            yield (*row[:keys], piece.level, *row[keys:]) if levelled else row


def _fetched(relation: Any, limit: int) -> tuple[pa.Table, bool]:
    """At most `limit` rows; the rest is never computed where it need not be."""
    with relation.to_arrow_reader(2048) as reader:
        batches, count = [], 0
        while count <= limit:
            try:
                batch = reader.read_next_batch()
            except StopIteration:
                break
            batches.append(batch)
            count += batch.num_rows
        names = _distinct(reader.schema.names)
        table = pa.Table.from_batches(batches, reader.schema).rename_columns(names)
    return table.slice(0, limit), count > limit


def _distinct(names: Sequence[str]) -> list[str]:
    """Names of which none is there twice, for a row is a mapping."""
    found: list[str] = []
    for name in names:
        number, unused = 1, name
        while unused in found:
            unused, number = f"{name}_{number}", number + 1
        found.append(unused)
    return found


class _Engine:
    """A DuckDB that can reach nothing but the tables it is given, and only for so long."""

    def __init__(self, connection: Any, seconds: float) -> None:
        self._connection, self._seconds = connection, seconds
        self._late = threading.Event()

    def interrupt(self) -> None:
        self._late.set()
        self._connection.interrupt()

    def check(self) -> None:
        if self._late.is_set():
            raise UsageError(
                f"sql: stopped after {self._seconds:g} s\n  narrow it: compare keys, or start, with constants in WHERE"
            )

    def register(self, name: str, table: pa.Table) -> None:
        self.check()
        self._connection.register(name, table)

    def relation(self, text: str) -> Any:
        self.check()
        return self._connection.sql(text)

    def micros(self, constant: exp.Expr) -> int | None:
        micros = exp.func("epoch_us", exp.cast(constant.copy(), exp.DataType.Type.TIMESTAMPTZ))
        found: list[tuple[int | None]] = self._connection.execute(exp.select(micros).sql("duckdb")).fetchall()
        return found[0][0]


@contextmanager
def _engine(seconds: float) -> Iterator[_Engine]:
    connection = duckdb.connect(":memory:", config=_ENGINE)
    engine = _Engine(connection, seconds)
    timer = threading.Timer(seconds, engine.interrupt)
    try:
        for setting in ("TimeZone = 'UTC'", "enable_external_access = false", "lock_configuration = true"):
            connection.execute(f"SET {setting}")
        timer.start()
        # One transaction, so that now() is one moment wherever it is asked for.
        connection.begin()
        yield engine
    except duckdb.Error as wrong:
        engine.check()
        raise UsageError(f"sql: {_told(wrong)}") from None
    finally:
        timer.cancel()
        if timer.ident is not None:
            timer.join()
        connection.close()


def _told(wrong: duckdb.Error) -> str:
    """DuckDB's words without its picture of the query, which is not the user's text."""
    kept = str(wrong).split("\n\nLINE ")[0].strip()
    return kept.replace("\n", "\n  ")
