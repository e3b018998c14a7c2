"""What a rule looks at: of each key the row that counts at a moment, whether its condition holds, and its facts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from tarnbeck.alert.current import Choice
from tarnbeck.cut import Cut
from tarnbeck.errors import UsageError
from tarnbeck.expression import check_finished
from tarnbeck.plan.alert import Alert, Lag
from tarnbeck.plan.view import View
from tarnbeck.serve.answer import Question
from tarnbeck.serve.changes import Seen, State, look
from tarnbeck.serve.memo import Row
from tarnbeck.serve.render import exact, to_json
from tarnbeck.serve.wire import cut_to_json
from tarnbeck.store.protocol import Store
from tarnbeck.window.duration import SECOND

ROWS = 100_000
"""Rows that one look takes at the most."""
SHARE = 10
"""A look that took long is followed by a pause so many times as long: no rule takes more than a tenth of a core."""
LONGEST = 1_000
"""Characters of a value that a notice holds."""

Status = Mapping[str, Any]
Facts = dict[str, Any]


@dataclass(frozen=True)
class Found:
    """One key, as JSON, and whether the condition holds for it; `facts` are made only for a notice."""

    keys: str
    holds: bool
    facts: Callable[[], Facts]


class Source(Protocol):
    """What a rule is about."""

    def look(self, views: Mapping[str, State], now: int) -> bool:
        """Looks again if there may be something new; whether it did."""

    def found(self, now: int, known: Iterable[str]) -> Iterator[Found]:
        """The keys for which the condition holds, by what counts now; of those that are known, also why it does not."""


class OfView:
    """The rows of a view, read again when the view has changed, a second after the last look at the earliest."""

    def __init__(self, store: Store, rule: Alert, view: str) -> None:
        self._store, self._rule, self._view = store, rule, view
        self._seen: Seen | None = None
        self._rows: dict[str, list[Row]] = {}
        self._may_hold: dict[str, None] = {}
        self._state: State | tuple[()] = ()
        self._again = 0
        self._condition: tuple[int, Callable[[Mapping[str, Any]], Any]] | None = None

    def look(self, views: Mapping[str, State], now: int) -> bool:
        state = views.get(self._view)
        if state == self._state or now < self._again:
            return False
        began = time.perf_counter()
        since = None if self._rule.last is None else now - self._rule.last
        try:
            self._take(look(self._store, Question(self._view, per=self._rule.per, since=since, limit=ROWS)))
        finally:
            self._again = now + max(SECOND, round(SHARE * 1e6 * (time.perf_counter() - began)))
        # A commit between the two would only be looked at once more.
        self._state = state
        return True

    def _take(self, seen: Seen) -> None:
        """Judges every row once, and keeps the verdict behind it: time alone changes only which of them counts."""
        if seen.answer.truncated:
            raise UsageError(
                f"alert '{self._rule.name}': view '{self._view}' has more than {ROWS:,} rows to look at\n"
                "  look back less far (last=), at a coarser level (per=), or at a view with fewer keys"
            )
        names, condition, depth = seen.answer.names, self._compiled(seen), seen.keys - seen.windowed
        texts: dict[Row, str] = {}
        rows: dict[str, list[Row]] = {}
        for row in seen.answer.rows:
            key = row[:depth]
            text = texts.get(key) or texts.setdefault(key, to_json(key).decode())
            holds = condition(dict(zip(names, row, strict=True))) is True
            rows.setdefault(text, []).append((*row, holds))
        self._seen, self._rows = seen, rows
        self._may_hold = dict.fromkeys(text for text, judged in rows.items() if any(row[-1] for row in judged))

    def found(self, now: int, known: Iterable[str]) -> Iterator[Found]:
        seen = self._seen
        if seen is None:
            return
        choice = Choice.of(seen, self._rule.last, only_closed=self._rule.only_closed)
        for keys in self._may_hold | dict.fromkeys(keys for keys in known if keys in self._rows):
            row = choice.current(self._rows[keys], now)
            if row is not None:
                yield Found(keys, row[-1], partial(_facts, seen, row[:-1]))

    def _compiled(self, seen: Seen) -> Callable[[Mapping[str, Any]], Any]:
        """Checked against the version that answers, which may be declared otherwise than the rule knows."""
        version = seen.answer.version
        if self._condition is None or self._condition[0] != version:
            owner = f"version {version} of view '{self._view}', which answers,"
            columns = dict(seen.answer.columns)
            found = check_finished(self._rule.when.sql, columns, place=f"alert '{self._rule.name}'", owner=owner)
            self._condition = version, found.python()
        return self._condition[1]


def _facts(seen: Seen, row: Row) -> Facts:
    answer, depth = replace(seen.answer, rows=[row]), seen.keys - seen.windowed
    (texts,) = exact(answer)
    values = dict(zip(answer.names, texts, strict=True))
    keys = dict(list(values.items())[:depth])
    window = {name: values[name] for name in ("start", "end")} if seen.windowed else None
    others = {name: short(value) for name, value in values.items() if name not in {*keys, *(window or ())}}
    place = {"view": answer.view, "version": answer.version, "level": answer.level}
    return {"keys": keys, "window": window, "values": others, **place, "cut": cut_to_json(answer.cut)}


def short(value: Any) -> Any:
    """A value of a notice; one that is long, such as a list of thousands, as the beginning of its JSON.

    >>> short(1.5), len(short("x" * 5000))
    (1.5, 1001)
    """
    text = value if isinstance(value, str) else to_json(value).decode()
    return value if len(text) <= LONGEST else text[:LONGEST] + "…"


class OfNode:
    """How the node is: its lag or its parts, once a second."""

    def __init__(self, store: Store, rule: Alert, status: Callable[[], Status]) -> None:
        self._store, self._rule, self._status = store, rule, status
        self._rows: list[tuple[Facts, Facts]] = []
        self._again = 0

    def look(self, views: Mapping[str, State], now: int) -> bool:
        if now < self._again:
            return False
        self._again = now + SECOND
        source, status = self._rule.source, self._status()
        self._rows = list(_lags(self._store, source, status) if isinstance(source, Lag) else _parts(status))
        return True

    def found(self, now: int, known: Iterable[str]) -> Iterator[Found]:
        holds = self._rule.when.python()
        for row, facts in self._rows:
            yield Found(to_json(list(facts["keys"].values())).decode(), holds(row) is True, facts.copy)


def _lags(store: Store, wanted: Lag, status: Status) -> Iterator[tuple[Facts, Facts]]:
    topics = {name: state.origin.topic for name, state in store.streams().items()}
    for kind, cut in (("view", "cut"), ("stream", "lake_cut")):
        for each in status[f"{kind}s"]:
            if (wanted.kind, wanted.name) not in ((None, None), (kind, each[kind])):
                continue
            keys = {"kind": kind, "name": each[kind]}
            values = {"records": each["lag_records"], "seconds": float(each["lag_seconds"])}
            at = cut_to_json(Cut.parse(topics[each["stream"]], each[cut]))
            yield keys | values, {"keys": keys, "window": None, "values": values, "cut": at}


def _parts(status: Status) -> Iterator[tuple[Facts, Facts]]:
    for each in status["parts"]:
        keys = {"part": each["part"]}
        values = {
            "state": each["state"],
            "records": each["lag_records"],
            "seconds": float(each["lag_seconds"]),
            "rate": float(each["rate"]),
            "error": each["error"],
        }
        told = {name: short(value) for name, value in values.items()}
        yield keys | values, {"keys": keys, "window": None, "values": told, "cut": None}


def source_of(store: Store, rule: Alert, status: Callable[[], Status]) -> Source:
    """What looks after a rule."""
    if isinstance(rule.source, View):
        return OfView(store, rule, rule.source.name)
    return OfNode(store, rule, status)
