"""A view written as a function in FROM: its named arguments ask for what a question asks for everywhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sqlglot import exp

from tarnbeck.errors import UsageError, unknown
from tarnbeck.plan.view import View
from tarnbeck.serve import held, moment
from tarnbeck.serve import shape as shapes
from tarnbeck.serve.answer import MOST, Question

ARGUMENTS = ("per", "by", "every", "fill", "cumulative", "last", "against", "since", "until", "ask", "bounds")
MOMENTS = ("as_of", "known", "at_cut")
"""What only tables are asked by."""
_SQL_HAS = {"having": "WHERE", "top": "ORDER BY and LIMIT", "limit": "ORDER BY and LIMIT"}

Fold = Callable[[exp.Expr], int | None]
"""UTC microseconds of a constant expression, by the engine that will compare with it; none if it is not one."""


def question(view: View, call: exp.Anonymous, fold: Fold) -> Question:
    """What `view(by => 'country', every => '1 day', item => 'tea')` asks for."""
    place = f"sql: view '{view.name}'"
    keys = {key.name.lower(): key.name for key in view.keys}
    given: dict[str, Any] = {}
    chosen: dict[str, Any] = {}
    for name, value in _named(place, call):
        if name in given or keys.get(name) in chosen:
            raise UsageError(f"{place}: argument '{name}' is given twice\n  leave one of them out")
        if name in ARGUMENTS or name in MOMENTS:
            given[name] = _READ[name](f"{place}: {name}", value, fold)
        elif name in keys:
            chosen[keys[name]] = _keys(f"{place}: {name}", value)
        elif name in _SQL_HAS:
            raise UsageError(f"{place}: no argument '{name}'\n  say it in the query itself, by {_SQL_HAS[name]}")
        else:
            raise UsageError(unknown(place, "argument", name, [*keys, *ARGUMENTS], "it"))
    now = fold(exp.CurrentTimestamp()) or 0
    since, until = moment.resolve(given.get("last"), given.get("since"), given.get("until"), now)
    against = moment.compared(given.get("against"), given.get("last"), until, now)
    options = {name: given[name] for name in ("fill", "cumulative", "ask", "bounds") if name in given}
    shape = shapes.read(given.get("by"), given.get("every"), **options)
    when = held.when(*(given.get(name) for name in MOMENTS))
    return Question(view.name, chosen, given.get("per"), since, until, MOST, shape, against, when)


def _named(place: str, call: exp.Anonymous) -> Iterator[tuple[str, exp.Expr]]:
    for argument in call.expressions:
        if not isinstance(argument, (exp.Kwarg, exp.PropertyEQ)):
            raise UsageError(
                f"{place}: an argument has no name: {argument.sql('duckdb')}\n"
                "  expected such as every => '1 day', with =>"
            )
        yield argument.this.name.lower(), argument.expression


def _expected(place: str, what: str, value: exp.Expr) -> UsageError:
    return UsageError(f"{place}: expected {what}\n  found {value.sql('duckdb')}")


def _text(place: str, value: exp.Expr, fold: Fold) -> str:
    if not isinstance(value, exp.Literal) or not value.is_string:
        raise _expected(place, "a text, such as '1 day'", value)
    return str(value.this)


def _texts(place: str, value: exp.Expr, fold: Fold) -> list[str]:
    """One text or several: `'country'`, or `['country', 'domain=split_part(url, ''/'', 1)']`."""
    texts = value.expressions if isinstance(value, exp.Array) else [value]
    if not all(isinstance(text, exp.Literal) and text.is_string for text in texts):
        raise _expected(place, "a text or a list of texts, such as 'country' or ['country', 'city']", value)
    return [str(text.this) for text in texts]


def _flag(place: str, value: exp.Expr, fold: Fold) -> bool:
    if not isinstance(value, exp.Boolean):
        raise _expected(place, "true or false", value)
    return bool(value.this)


def _moment(place: str, value: exp.Expr, fold: Fold) -> Any:
    """A text is read as everywhere else; any other constant by the engine, so that now() is the query's own."""
    if isinstance(value, exp.Literal) and value.is_string:
        return value.this
    at = fold(value)
    if at is None:
        raise _expected(place, "a constant time, such as '2026-01-31' or now() - interval '1 hour'", value)
    return moment.bounds(moment.within(place, at), 0)[0]


def _keys(place: str, value: exp.Expr) -> Any:
    """One constant or several: `'tea'`, or `['tea', null]`."""
    return [_key(place, each) for each in value.expressions] if isinstance(value, exp.Array) else _key(place, value)


def _key(place: str, value: exp.Expr) -> Any:
    """The text of a constant, which is read by the type of the key."""
    if isinstance(value, exp.Null):
        return None
    inner = value.this if isinstance(value, exp.Cast) else value
    sign, inner = ("-", inner.this) if isinstance(inner, exp.Neg) else ("", inner)
    if isinstance(inner, exp.Boolean):
        return bool(inner.this)
    if not isinstance(inner, exp.Literal):
        raise _expected(place, "a constant, or a list of them", value)
    return sign + inner.this


_READ: dict[str, Callable[[str, exp.Expr, Fold], Any]] = {
    "per": _text,
    "by": _texts,
    "every": _text,
    "fill": _flag,
    "cumulative": _flag,
    "last": _text,
    "against": _text,
    "since": _moment,
    "until": _moment,
    "ask": _texts,
    "bounds": _flag,
    "as_of": _moment,
    "known": _moment,
    "at_cut": _text,
}
