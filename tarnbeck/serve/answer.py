"""The one function behind every answer: merges generation and epochs, finishes the states, and tells the cut."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from tarnbeck.cut import Cut
from tarnbeck.errors import NotReady, StoreError, UsageError, unknown
from tarnbeck.plan.keep import Kept, kept
from tarnbeck.plan.view import View
from tarnbeck.schema.types import Type
from tarnbeck.serve import compare, held, merge, moment, wanted
from tarnbeck.serve import shape as shapes
from tarnbeck.serve.batched import Batched
from tarnbeck.serve.held import NOW, When
from tarnbeck.serve.memo import Plan, Row, memo
from tarnbeck.serve.shape import AS_STORED, Merged, Shape
from tarnbeck.serve.table import of_rows
from tarnbeck.serve.wanted import Wanted
from tarnbeck.store import rules
from tarnbeck.store.protocol import Snapshot, Store
from tarnbeck.store.state import VersionState
from tarnbeck.window.pane import Whole
from tarnbeck.window.window import Session, Sliding

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

LIMIT = 10_000
MOST = 1_000_000
"""Rows of the largest answer."""
REACH = 3_000_000
"""Rows that one question may merge before its limit is applied: what it costs in memory is bounded by this."""

_PAUSE = 0.02
_FEW = 100


class MissingError(UsageError):
    """A view or stream that does not exist was asked for."""


@dataclass(frozen=True)
class Question:
    """What is asked of one view.

    `keys` compares key columns, each with one value or a list of them, None being null; `per` is a level of a rollup,
    the finest when left out. All windows that overlap [since, until), in UTC microseconds, are asked for; when they are
    more than `limit`, the newest. With `against`, that range and [against, until) are compared, each as one window.
    `when` is the moment that a table is asked for. With `batch`, only what the batch layer has merged is told, at its
    own, older cut.
    """

    view: str
    keys: Mapping[str, Any] = field(default_factory=dict)
    per: str | None = None
    since: int | None = None
    until: int | None = None
    limit: int = LIMIT
    shape: Shape = AS_STORED
    against: int | None = None
    when: When = NOW
    batch: bool = False


@dataclass(frozen=True)
class Answer:
    """Finished rows, ordered by keys and start, and the cut they stand at."""

    view: str
    version: int
    columns: tuple[tuple[str, Type], ...]
    rows: list[Row]
    cut: Cut
    origin: Cut
    level: str
    since: int | None
    until: int | None
    truncated: bool
    against: int | None = None
    kept_since: int | None = None
    """Windows that start before this are no longer kept; None: all are."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns)

    @property
    def records(self) -> int:
        """How many records of the log the answer covers; a packed one holds many events."""
        return self.origin.span_to(self.cut).records

    @property
    def reaches_past(self) -> bool:
        """Whether the question was about windows, too, that are no longer kept."""
        ranges = (self.since, self.since if self.against is None else self.against)
        return self.kept_since is not None and any(since is None or since < self.kept_since for since in ranges)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        names = self.names
        return (dict(zip(names, row, strict=True)) for row in self.rows)

    def dicts(self) -> list[dict[str, Any]]:
        return list(self)

    def arrow(self) -> pa.Table:
        """The rows as an Arrow table of the columns' own types."""
        return of_rows(self.columns, self.rows)

    def pandas(self) -> pd.DataFrame:
        return self.arrow().to_pandas()


def answer(store: Store, question: Question) -> Answer:
    """The answer to one question, as of now."""
    return answers(store, [question])[0]


def answers(store: Store, questions: Sequence[Question], *, same_cut: float | None = None) -> list[Answer]:
    """The answers to several questions, all from one moment of the store.

    With `same_cut`, waits up to so many seconds until all views answer and those of one stream stand at one cut.
    """
    names = list(dict.fromkeys(question.view for question in questions))
    with ready(store, names, same_cut) as snapshot:
        return [ask(store, snapshot, question) for question in questions]


def quick(store: Store, question: Question, now: int) -> Answer | None:
    """The answer, if it takes no longer than handing the question to another thread would; else nothing."""
    with ready(store, [question.view]) as snapshot:
        plan = memo(store).plan(store, snapshot.versions[question.view])
        one = not wanted.several(question.keys)
        return ask(store, snapshot, question) if one and _few(plan, question, now) else None


def _few(plan: Plan, question: Question, now: int) -> bool:
    """Whether the question is for one key and few windows."""
    view = plan.view
    if len(question.keys) < len(view.keys) or question.against is not None:
        return False
    if plan.table is not None:
        return held.sought(plan.table, question.when)
    pane = view.window.panes[_level(view, question)]
    length = pane.end_of(0)
    if length is None or question.since is None:
        return length is None
    until = now if question.until is None else question.until
    return until - question.since <= _FEW * length


def key_names(store: Store, view: str) -> tuple[str, ...]:
    """The key columns of a view."""
    with _snapshot(store, [view]) as snapshot:
        return tuple(key.name for key in view_in(store, snapshot.versions[view]).keys)


@contextmanager
def ready(store: Store, names: Sequence[str], same_cut: float | None = None) -> Iterator[Snapshot]:
    """A snapshot in which all these views can answer; without `same_cut` it is now or never."""
    deadline = time.monotonic() + (same_cut or 0)
    while True:
        with _snapshot(store, names) as snapshot:
            obstacle = _building(snapshot.versions) or (None if same_cut is None else _lagging(snapshot.versions))
            if obstacle is None:
                yield snapshot
                return
        if time.monotonic() >= deadline:
            raise NotReady(obstacle)
        # What changes the store may be another process, which gives nothing to wait on.
        time.sleep(_PAUSE)


def ask(store: Store, snapshot: Snapshot, question: Question, reach: int = REACH) -> Answer:
    """The answer of a view to one question in a snapshot that holds it; more than `reach` rows are refused."""
    if question.batch:
        snapshot, question = Batched(snapshot), replace(question, batch=False)
    if question.against is not None:
        return _compared(store, snapshot, question, reach)
    version = snapshot.versions[question.view]
    known = memo(store)
    plan = known.plan(store, version)
    level = _level(plan.view, question)
    shape = question.shape
    shaped = plan if shape == AS_STORED else known.shaped(version, plan.view, shape, level)
    cut = _known_at(plan, version, question.when)
    keys, panes = wanted.read(plan.view, question.keys), _panes(plan.view, shaped.view, question, level)
    bound = kept(plan.view, level, known.arrived(snapshot, plan.view))
    if bound is not None:
        panes = bound.pane if panes[0] is None else max(panes[0], bound.pane), panes[1]
    # Rows are a function of a version and a cut: until the next commit, the same question has the same answer.
    whole = isinstance(plan.view.window, (Sliding, Session)) or shape != AS_STORED
    range_ = (question.since, question.until) if whole else panes
    asked = (
        version.id,
        version.cut,
        level,
        tuple(sorted(keys.items())),
        range_,
        _limit(question),
        shape,
        question.when,
    )
    found = known.answered(asked)
    if found is None:
        merged = held.merged(snapshot, plan, level, keys, panes, reach, question.when)
        found = _found(shaped, level, merged, question, keys, bound, reach)
        known.keep(asked, found)
    rows, truncated = found
    return Answer(
        plan.view.name,
        version.id,
        shaped.columns,
        list(rows),
        cut,
        version.origin,
        shaped.view.window.levels[level if shaped is plan else 0],
        question.since,
        question.until,
        truncated,
        kept_since=None if bound is None else bound.pane if shape.one else bound.window,
    )


def _known_at(plan: Plan, version: VersionState, when: When) -> Cut:
    """The cut that an answer covers: the one that a table is asked for, else where the view stands."""
    if when != NOW and plan.table is None:
        raise UsageError(
            f"view '{version.view}': it is no table, so there is no other moment of it\n"
            "  leave out as_of, known and at_cut; windows are asked for by since and until"
        )
    if when.at_cut is None:
        return version.cut
    cut = Cut.of(version.cut.topic, dict(when.at_cut.offsets))
    if not version.cut.covers(cut):
        raise UsageError(
            f"view '{version.view}': at_cut {cut} is ahead of it\n  it stands at {version.cut}: ask for a cut below"
        )
    return cut


def _compared(store: Store, snapshot: Snapshot, question: Question, reach: int) -> Answer:
    """The answer that shows two ranges of a view side by side, both at the one cut of the snapshot."""
    version, shape, limit = snapshot.versions[question.view], question.shape, _limit(question)
    stored, one = view_in(store, version), Shape(shape.by, one=True, ask=shape.ask, bounds=shape.bounds)
    view = memo(store).shaped(version, stored, one, _level(stored, question)).view
    compare.check(view, shape)
    whole = replace(question, against=None, limit=MOST, shape=one)
    near = ask(store, snapshot, whole, reach)
    far = ask(store, snapshot, replace(whole, since=question.against), reach)
    columns, rows = compare.beside(near.columns, len(view.keys), near.rows, far.rows, view.finish(view.neutral))
    rows = shapes.choose(view, shape, columns, rows)
    truncated = near.truncated or far.truncated or len(rows) > limit
    return replace(near, columns=columns, rows=rows[:limit], truncated=truncated, against=question.against)


def _found(
    plan: Plan, level: int, merged: Merged, question: Question, keys: Wanted, bound: Kept | None, reach: int
) -> tuple[list[Row], bool]:
    """The rows of an answer from the states that were read, and whether there are more."""
    view, shape = plan.view, question.shape
    if shape != AS_STORED:
        merged, level = shapes.regroup(plan.stored or view, view, merged), 0
    if isinstance(view.window, (Sliding, Session)):
        merged = merge.assembled(view, merged, (question.since, question.until), reach)
    if bound is not None and not shape.one:
        # A window is answered only if all its panes are kept.
        merged = {at: states for at, states in merged.items() if at[-1] >= bound.window}
    if shape.fill:
        since = question.since
        if since is not None and bound is not None:
            since = max(since, shapes.first_from(view, bound.window))
        known = shapes.named(plan.stored or view, view, keys)
        merged = shapes.fill(view, merged, known, since, question.until, reach)
    if shape.cumulative:
        merged = shapes.cumulate(view, merged)
    chosen = shape.having is not None or shape.top is not None
    one = len(keys) == len(view.keys) and all(len(raws) == 1 for raws in keys.values())
    if shape != AS_STORED:
        one = len({at[:-1] for at in merged}) <= 1
    rows = merge.rows(plan, level, merged, MOST if chosen else question.limit, one=one)
    if chosen:
        rows = shapes.choose(view, shape, plan.columns, rows)
        return rows[: question.limit], len(rows) > question.limit
    return rows, len(rows) < len(merged)


def _limit(question: Question) -> int:
    if not 1 <= question.limit <= MOST:
        raise UsageError(f"view '{question.view}': bad limit {question.limit}\n  expected 1 to {MOST:,} rows")
    return question.limit


def view_in(store: Store, version: VersionState) -> View:
    """The view that a version is one definition of."""
    return memo(store).plan(store, version).view


@contextmanager
def _snapshot(store: Store, names: Sequence[str]) -> Iterator[Snapshot]:
    with ExitStack() as stack:
        try:
            snapshot = stack.enter_context(store.snapshot(names))
        except StoreError:
            known = store.aliases()
            for name in names:
                if name not in known:
                    raise MissingError(unknown("query", "view", name, known, "the application")) from None
            raise
        yield snapshot


def _building(versions: Mapping[str, VersionState]) -> str | None:
    for name, version in versions.items():
        if not rules.answerable(version):
            return (
                f"view '{name}': it is building\n"
                f"  its parts do not yet reach from the beginning ({version.origin}) to its cut ({version.cut})\n"
                f"  wait for its replay, or run: tarnbeck replay {name}"
            )
    return None


def _lagging(versions: Mapping[str, VersionState]) -> str | None:
    for stream in {version.stream for version in versions.values()}:
        cuts = {name: version.cut for name, version in versions.items() if version.stream == stream}
        furthest = reduce(Cut.advance, cuts.values())
        for name, cut in cuts.items():
            if cut != furthest:
                others = ", ".join(f"'{other}' at {at}" for other, at in cuts.items() if other != name)
                return (
                    f"view '{name}': it lags behind other views of stream '{stream}'\n"
                    f"  it is at {cut}, {others}\n  wait longer, or ask without a common cut"
                )
    return None


def _level(view: View, question: Question) -> int:
    levels = view.window.levels
    if question.per is None:
        return 0
    if question.per not in levels:
        raise UsageError(unknown(f"view '{view.name}'", "level", question.per, levels, "its window"))
    return levels.index(question.per)


def _panes(view: View, shaped: View, question: Question, level: int) -> merge.Range:
    """The range of panes that the asked windows, all of them whole, are made of."""
    pane = view.window.panes[level]
    since, until = question.since, question.until
    if isinstance(pane, Whole) and (since is not None or until is not None):
        raise UsageError(
            f"view '{view.name}': it has one window over all time, so there is no range of it\n"
            "  leave out last, since and until, or declare a view with a window"
        )
    since = None if since is None else moment.within("since", since)
    until = None if until is None else moment.within("until", until)
    if isinstance(view.window, (Sliding, Session)) and not question.shape.one:
        since, until = view.window.reach(since, until)
    if question.shape.every is not None:
        longer = shaped.window.panes[0]
        since = None if since is None else longer.start_of(since)
        until = None if until is None else longer.end_of(longer.start_of(until - 1))
    return None if since is None else pane.start_of(since), until
