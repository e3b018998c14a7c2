"""What a request asks for, out of its parameters or its body."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import orjson

from tarnbeck.errors import UsageError, unknown
from tarnbeck.serve import shape as shapes
from tarnbeck.serve.answer import LIMIT, Question, key_names
from tarnbeck.serve.held import when
from tarnbeck.serve.moment import compared, resolve
from tarnbeck.serve.trigger import Trigger
from tarnbeck.serve.trigger import read as trigger
from tarnbeck.store.protocol import Store

SHAPE = ("by", "every", "fill", "cumulative", "having", "top", "ask", "bounds")
RESERVED = (
    "since",
    "until",
    "last",
    "against",
    "as_of",
    "known",
    "at_cut",
    "per",
    "limit",
    "wait",
    "null",
    "layer",
    *SHAPE,
)
KEY = "key."
"""Before the name of a key that is called like a parameter."""
LONGEST_WAIT = 60.0
LIVE = ("on", "heartbeat")
"""What only a live question has."""
HEARTBEAT = 15.0
SHORTEST_BEAT = 0.1


@dataclass(frozen=True)
class Asked:
    """A question, and how many seconds it may wait for a common cut."""

    question: Question
    wait: float | None


@dataclass(frozen=True)
class LiveAsked:
    """A question that is kept up to date: put anew for each update, for `last` counts from then; equal by its key."""

    key: Hashable
    view: str
    question: Callable[[int], Question]
    trigger: Trigger
    heartbeat: float


@dataclass(frozen=True)
class AskedSql:
    text: str
    limit: int
    wait: float | None


def read(view: str, given: Sequence[tuple[str, str]], now: int) -> Asked:
    """The question that URL parameters put to a view: key columns by their names, the rest as in RESERVED."""
    place = f"view '{view}'"
    options: dict[str, str] = {}
    keys: dict[str, list[str | None]] = {}
    repeated: dict[str, list[str]] = {"by": [], "ask": []}
    for name, value in given:
        if name == "null":
            keys.setdefault(value, []).append(None)
        elif name in repeated:
            repeated[name].append(value)
        elif name in RESERVED:
            _once(place, name, options)
            options[name] = value
        else:
            keys.setdefault(name.removeprefix(KEY), []).append(value)
    since, until = resolve(options.get("last"), options.get("since"), options.get("until"), now)
    against = compared(options.get("against"), options.get("last"), until, now)
    limit = _limit(place, options.get("limit", LIMIT))
    shape = shapes.read(
        repeated["by"] or None,
        options.get("every"),
        cumulative=_flag(place, "cumulative", options),
        fill=_flag(place, "fill", options),
        having=options.get("having"),
        top=options.get("top"),
        ask=repeated["ask"],
        bounds=_flag(place, "bounds", options),
    )
    at = when(options.get("as_of"), options.get("known"), options.get("at_cut"))
    batch = _batch(place, options.get("layer"))
    chosen = {name: given if len(given) > 1 else given[0] for name, given in keys.items()}
    question = Question(view, chosen, options.get("per"), since, until, limit, shape, against, at, batch)
    return Asked(question, wait(place, options.get("wait")))


def read_live(view: str, given: Sequence[tuple[str, str]], now: int) -> LiveAsked:
    """What is asked to be kept up to date: a question, when to tell of changes, and how often to show life."""
    place = f"view '{view}'"
    own = {name: value for name, value in given if name in LIVE}
    rest = tuple((name, value) for name, value in given if name not in LIVE)
    if any(name == "wait" for name, _ in rest):
        raise UsageError(f"{place}: wait: a live question waits by itself until the view can answer\n  leave it out")

    def question(now: int) -> Question:
        return read(view, rest, now).question

    # Only the order of names that may be repeated has a meaning.
    key = view, tuple(sorted(rest, key=itemgetter(0)))
    return live(key, view, question, own.get("on", "change"), own.get("heartbeat", HEARTBEAT), now)


def live(
    key: Hashable, view: str, question: Callable[[int], Question], on: str, beat: float | str, now: int
) -> LiveAsked:
    """A question to be kept up to date, if it fits."""
    place = f"view '{view}'"
    if question(now).limit > LIMIT:
        raise UsageError(f"{place}: limit: a live question has at most {LIMIT:,} rows\n  narrow it, or ask for fewer")
    return LiveAsked(key, view, question, trigger(on), _heartbeat(place, beat))


def _batch(place: str, layer: str | None) -> bool:
    if layer not in (None, "batch"):
        raise UsageError(f"{place}: bad layer {layer!r}\n  expected batch; all layers are merged without it")
    return layer is not None


def _heartbeat(place: str, given: Any) -> float:
    """Seconds between two signs of life."""
    try:
        seconds = float(given)
    except (TypeError, ValueError):
        seconds = 0.0
    if not SHORTEST_BEAT <= seconds <= LONGEST_WAIT:
        raise UsageError(f"{place}: bad heartbeat {given!r}\n  expected {SHORTEST_BEAT:g} to {LONGEST_WAIT:g} seconds")
    return seconds


def _flag(place: str, name: str, options: Mapping[str, str]) -> bool:
    given = options.get(name, "false").lower()
    if given not in ("true", "false"):
        raise UsageError(f"{place}: bad {name} {given!r}\n  expected true or false")
    return given == "true"


def check(store: Store, question: Question) -> None:
    """Refuses a name that is neither a key nor a parameter; asked only when something is wrong, for it costs a read."""
    known = key_names(store, question.view)
    for key in question.keys:
        if key not in known:
            raise UsageError(unknown(f"view '{question.view}'", "parameter", key, [*known, *RESERVED], "it"))


def _once(place: str, name: str, seen: dict[str, Any]) -> None:
    if name in seen:
        raise UsageError(f"{place}: parameter '{name}' is given twice\n  leave one of them out")


def read_sql(body: bytes, content_type: str) -> AskedSql:
    """The query in a body: its text, or JSON with sql, limit and wait."""
    if content_type.split(";")[0].strip().lower() != "application/json":
        try:
            return AskedSql(body.decode(), LIMIT, None)
        except UnicodeDecodeError:
            raise UsageError("sql: the body is not UTF-8") from None
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as wrong:
        raise UsageError(f"sql: the body is not JSON: {wrong}") from None
    if not isinstance(found, dict) or not isinstance(found.get("sql"), str):
        raise UsageError('sql: expected {"sql": "select ..."}, or the query as text/plain')
    for name in found:
        if name not in ("sql", "limit", "wait"):
            raise UsageError(unknown("sql", "member", name, ("sql", "limit", "wait"), "the body"))
    return AskedSql(found["sql"], _limit("sql", found.get("limit", LIMIT)), wait("sql", found.get("wait")))


def _limit(place: str, given: Any) -> int:
    try:
        return int(str(given))
    except ValueError:
        raise UsageError(f"{place}: bad limit {given!r}\n  expected a number of rows") from None


def wait(place: str, given: Any) -> float | None:
    """Seconds to wait; without it, no common cut is asked for."""
    if given is None:
        return None
    try:
        seconds = float(given)
    except (TypeError, ValueError):
        seconds = -1.0
    if not 0 <= seconds <= LONGEST_WAIT:
        raise UsageError(f"{place}: bad wait {given!r}\n  expected 0 to {LONGEST_WAIT:g} seconds")
    return seconds
