"""What a view keeps is a function of the cut: answers are the same whether panes were removed meanwhile or not."""

from __future__ import annotations

import datetime
import tempfile
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import tarnbeck as tb
from tarnbeck.arrow import partials as kernel
from tarnbeck.batch import audit
from tarnbeck.cli import main
from tarnbeck.errors import DeclarationError
from tarnbeck.memory.partials import partials
from tarnbeck.plan.definition import identity
from tarnbeck.serve import render, shape, sql
from tarnbeck.serve.answer import Answer, Question, answer
from tarnbeck.serve.http import application, serve
from tarnbeck.serve.moment import micros
from tarnbeck.store import clock
from tarnbeck.store.protocol import Refused
from tarnbeck.store.rows import from_arrow
from tarnbeck.store.sqlite import SQLiteStore
from tarnbeck.testing.memory import rows_of
from tests.effort import tries
from tests.serve.sample import BEGIN, NOW, Event, cut_after, feed, register, to_arrow

SECOND = 1_000_000
MINUTE = 60 * SECOND
FIRST = micros(BEGIN)


def site() -> tb.App:
    app = tb.App("site")
    clicks = app.stream("clicks", "time timestamp, item string, pieces int", time="time")
    select = {"n": tb.count(), "items": tb.distinct("item")}
    app.view("minutes", clicks, by="item", window=tb.tumbling("1 minute"), keep="3 minutes", select=select)
    app.view(
        "rolled",
        clicks,
        window=tb.rollup("second", "minute", "hour"),
        keep={"second": "90 seconds", "minute": "5 minutes"},
        select=select,
    )
    app.view(
        "slid",
        clicks,
        by="item",
        window=tb.sliding("2 minutes", every="50 s"),
        keep="4 minutes",
        select={"n": tb.count()},
    )
    app.view("visits", clicks, by="item", window=tb.session("20 s"), keep="2 minutes", select={"n": tb.count()})
    app.view(
        "some",
        clicks,
        where="item = 'a'",
        late="drop after 2 minutes",
        window=tb.tumbling("30 s"),
        keep="1 minute",
        select={"n": tb.count()},
    )
    return app


@dataclass
class History:
    """A store that is fed and trimmed step by step, and the events it was fed with."""

    store: SQLiteStore
    app: tb.App
    events: list[Event] = field(default_factory=list)

    def feed(self, events: Sequence[Event]) -> None:
        feed(self.store, self.app, self.events, events)
        self.events += events

    def batch(self, *, full: bool, trim: bool = True) -> None:
        """What the batch layer does, for all views."""
        for name, view in self.app.views.items():
            version = self.store.versions()[self.store.aliases()[name]]
            base = None if full else version.generation
            cut = self.store.roll(version.id)
            if cut is None or (base is not None and base.cut == cut):
                continue
            start = 0 if base is None else base.cut[0]
            building = self.store.begin_generation(version.id, view.layout, cut, None if base is None else base.id)
            assert not isinstance(building, Refused)
            partial = to_arrow(view, self.events[start:])
            if trim:
                with self.store.snapshot([name]) as snapshot:
                    partial = clock.trimmed(building, view, clock.newest(snapshot, view), partial)
            building.write(partial)
            building.seal()
            assert not isinstance(self.store.publish(building, leap=False), Refused)
        self.store.collect()

    def ask(self, view: str, per: str | None = None, **more: Any) -> Answer:
        return answer(self.store, Question(view, per=per, **more))

    def stored(self, view: str, level: int = 0) -> int:
        """Rows that the store has, also those that no answer shows."""
        with self.store.snapshot([view]) as snapshot:
            return sum(1 for part in snapshot.parts(view, level=level) for _ in part)


def event(offset: int, received: int, behind: int, item: str) -> Event:
    """An event that came so many microseconds after its time."""
    moment = BEGIN + datetime.timedelta(microseconds=received - behind)
    arrived = BEGIN + datetime.timedelta(microseconds=received)
    place = {"_partition": 0, "_offset": offset, "_index": 0, "_received": arrived, "_time": moment}
    return {**place, "time": moment, "item": item, "pieces": 1}


def started(folder: Path) -> History:
    app = site()
    store = SQLiteStore(folder, clock=lambda: NOW)
    register(store, app)
    return History(store, app)


def moments(events: Iterable[Event]) -> list[tuple[str, int]]:
    return [(each["item"], micros(each["_time"])) for each in events]


def newest(events: Iterable[Event]) -> int:
    return max(micros(each["_received"]) for each in events)


def tumbled(events: list[Event], length: int, keep: int | None) -> Counter[tuple[str, int]]:
    """By hand: each item's windows that ended no more than `keep` before the newest arrival."""
    found = Counter((item, at // length * length) for item, at in moments(events))
    now = newest(events)
    return Counter({w: n for w, n in found.items() if keep is None or now - (w[1] + length) <= keep})


def slid(events: list[Event]) -> Counter[tuple[str, int]]:
    """By hand: windows of 120 s every 50 s, whose first pane, of 10 s, is kept; so are all later ones."""
    now, found = newest(events), Counter[tuple[str, int]]()
    for item, at in moments(events):
        for start in range(at // (50 * SECOND) * 50 * SECOND, at - 120 * SECOND, -50 * SECOND):
            if now - (start + 10 * SECOND) <= 240 * SECOND:
                found[item, start] += 1
    return found


def visited(events: list[Event]) -> Counter[tuple[str, int]]:
    """By hand: sessions that begin at least a gap after the first pane that is kept."""
    gap, now, found = 20 * SECOND, newest(events), Counter[tuple[str, int]]()
    first = -((120 * SECOND + gap - now) // gap) * gap
    assert now - (first + gap) <= 120 * SECOND < now - first
    for name in {item for item, _ in moments(events)}:
        begun = before = None
        for at in sorted(at for item, at in moments(events) if item == name):
            if before is None or begun is None or at - before > gap:
                begun = at
            if begun >= first + gap:
                found[name, begun] += 1
            before = at
    return found


def in_time(events: list[Event]) -> list[Event]:
    late = datetime.timedelta(minutes=2)
    return [each for each in events if each["item"] == "a" and each["_received"] - each["_time"] <= late]


def together(found: Counter[tuple[str, int]]) -> Counter[int]:
    whole = Counter[int]()
    for (_, start), count in found.items():
        whole[start] += count
    return whole


def by_item(given: Answer) -> Counter[tuple[str, int]]:
    return Counter({(row["item"], micros(row["start"])): row["n"] for row in given})


def by_start(given: Answer) -> Counter[int]:
    return Counter({micros(row["start"]): row["n"] for row in given})


def check(history: History) -> None:
    events = history.events
    assert by_item(history.ask("minutes")) == tumbled(events, MINUTE, 3 * MINUTE)
    assert by_start(history.ask("rolled", "second")) == together(tumbled(events, SECOND, 90 * SECOND))
    assert by_start(history.ask("rolled", "minute")) == together(tumbled(events, MINUTE, 5 * MINUTE))
    assert by_start(history.ask("rolled", "hour")) == together(tumbled(events, 60 * MINUTE, None))
    assert by_item(history.ask("slid")) == slid(events)
    assert by_item(history.ask("visits")) == visited(events)
    mine = in_time(events)
    assert by_start(history.ask("some")) == (together(tumbled(mine, 30 * SECOND, MINUTE)) if mine else Counter())
    for name, view in history.app.views.items():
        # The audit compares what is kept, and the newest arrival itself; memory answers as the store does.
        recount = partials(view, events)
        for level, unit in enumerate(view.window.levels):
            assert history.ask(name, unit).dicts() == rows_of(view, recount, level)
        assert audit.compare(view, cut_after(events), _served(history, name), _placed(recount)).equal


def _placed(partial: Any) -> Any:
    return {(level, keys, pane): states for (keys, level, pane), states in partial.items()}


def _served(history: History, name: str) -> Any:
    with history.store.snapshot([name]) as snapshot:
        return audit.served(snapshot, history.app.views[name])


CHUNK = st.lists(
    st.tuples(
        st.integers(-20, 90),
        st.sampled_from([0, 0, 1, 15, 70, 200, 1000]),
        st.sampled_from("ab"),
        st.integers(0, 999_999),
    ),
    min_size=1,
    max_size=6,
)
STEPS = st.lists(st.one_of(CHUNK, st.sampled_from(["batch", "full", "untrimmed", "roll"])), min_size=1, max_size=12)


@settings(max_examples=tries(12), suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(STEPS)
def test_removal_at_any_moment_changes_no_answer(steps: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        history = started(Path(folder))
        now = 0
        for step in steps:
            if isinstance(step, list):
                chunk: list[Event] = []
                for forward, behind, item, micro in step:
                    now += forward * SECOND
                    chunk.append(event(len(history.events) + len(chunk), now, behind * SECOND + micro, item))
                history.feed(chunk)
            elif step == "roll":
                for version in history.store.aliases().values():
                    history.store.roll(version)
            else:
                history.batch(full=step != "batch", trim=step != "untrimmed")
            if history.events:
                check(history)
        history.store.close()


@pytest.fixture
def history(tmp_path: Path) -> Any:
    """Ten minutes of one event a second, with a batch in the middle."""
    found = started(tmp_path / "store")
    found.feed([event(i, i * SECOND, 0, "ab"[i % 2]) for i in range(300)])
    found.batch(full=False)
    found.feed([event(i, i * SECOND, 0, "ab"[i % 2]) for i in range(300, 600)])
    yield found
    found.store.close()


def test_the_kernel_has_the_newest_arrival_too() -> None:
    events = [event(i, i * SECOND, i % 7 * MINUTE, "ab"[i % 2]) for i in range(100)]
    columns = {name: [each[name] for each in events] for name in events[0]}
    times = dict.fromkeys(("_received", "_time", "time"), pa.timestamp("us", "UTC"))
    table = pa.table({name: pa.array(values, times.get(name)) for name, values in columns.items()})
    for view in site().views.values():
        (partial,) = kernel.partials(kernel.steps(view), table)
        found = from_arrow(partial, view.layout)
        assert {(found.keys[k], level, pane): s for (level, k, pane), s in found.states.items()} == partials(
            view, events
        )
        (nothing,) = kernel.partials(kernel.steps(view), table.slice(0, 0))
        assert nothing.num_rows == 0


def test_the_next_generation_is_without_what_is_past(history: History) -> None:
    before = history.stored("rolled"), history.stored("rolled", 1), history.stored("rolled", 2)
    history.batch(full=False)
    after = history.stored("rolled"), history.stored("rolled", 1), history.stored("rolled", 2)
    assert before == (392, 10, 2)
    assert after == (92, 6, 1)
    history.batch(full=True)
    assert (history.stored("rolled"), history.stored("rolled", 1), history.stored("rolled", 2)) == after
    check(history)


def test_an_answer_says_from_when_on_the_view_keeps_its_windows(history: History) -> None:
    kept = FIRST + 6 * MINUTE
    found = history.ask("minutes")
    assert (found.kept_since, found.reaches_past) == (kept, True)
    assert micros(found.rows[0][1]) == kept
    recent = history.ask("minutes", since=FIRST + 8 * MINUTE)
    assert (recent.kept_since, recent.reaches_past) == (kept, False)
    past = history.ask("minutes", since=FIRST, until=FIRST + MINUTE)
    assert (past.rows, past.kept_since, past.reaches_past) == ([], kept, True)
    assert history.ask("rolled", "hour").kept_since is None


def test_longer_windows_are_answered_when_all_of_them_is_kept(history: History) -> None:
    kept = FIRST + 6 * MINUTE
    found = history.ask("minutes", shape=shape.read("", "4 minutes"))
    assert [micros(row["start"]) for row in found] == [FIRST + 8 * MINUTE]
    filled = history.ask("minutes", since=FIRST, shape=shape.read("item", "4 minutes", fill=True))
    assert {micros(row["start"]) for row in filled} == {FIRST + 8 * MINUTE}
    whole = history.ask("minutes", since=FIRST, shape=shape.read("", "all"))
    assert (whole.dicts(), whole.kept_since) == ([{"n": 240, "items": 2}], kept)
    both = history.ask("minutes", since=FIRST + 9 * MINUTE, against=FIRST, shape=shape.read("", None))
    assert (both.rows, both.reaches_past) == ([(60, 2, 240, 2)], True)


def test_every_interface_says_it(history: History) -> None:
    text = "2026-03-01T10:06:00Z"
    found = sql.query(history.store, "select count(*) as rows from minutes")
    assert (found.dicts(), dict(found.kept_since)) == ([{"rows": 8}], {"minutes": FIRST + 6 * MINUTE})
    assert not sql.query(history.store, "select * from minutes where start > '2026-03-01 10:07'").kept_since
    running = serve(application(history.store, clock=lambda: NOW), "127.0.0.1", 0)
    try:
        with tb.connect(running.url) as remote:
            assert remote.query("minutes").kept_since == FIRST + 6 * MINUTE
            with remote.live("minutes") as followed:
                next(iter(followed))
                assert followed.answer == remote.query("minutes")
            keeps = {view["view"]: view["keep"] for view in remote.views()}
            assert keeps["rolled"] == {"second": "90 seconds", "minute": "5 minutes"}
            assert remote.sql("select * from minutes").kept_since == {"minutes": FIRST + 6 * MINUTE}
        with urllib.request.urlopen(f"{running.url}/views/minutes") as response:  # noqa: S310
            assert response.headers["Tarnbeck-Kept-Since"] == text
    finally:
        running.stop()
    assert f'"kept_since":"{text}"'.encode() in render.answer(history.ask("minutes"), render.JSON)
    assert f'"kept_since":{{"minutes":"{text}"}}'.encode() in render.sql_answer(found, render.JSON)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["query", "minutes"], True),
        (["query", "minutes", "--since", "2026-03-01T10:08"], False),
        (["query", "minutes", "--until", "2026-03-01T10:02", "--csv"], True),
        (["sql", "select * from minutes(by => '')"], True),
        (["sql", "select * from rolled where level = 'hour'"], False),
    ],
)
def test_the_command_line_says_it_when_a_question_reaches_past(
    history: History, tmp_path: Path, words: list[str], told: bool
) -> None:
    result = CliRunner().invoke(main.application(), [*words, "--folder", str(tmp_path)])
    assert result.exit_code == 0
    assert ("keeps windows from 2026-03-01T10:06:00Z on" in result.stderr) == told


def declared(window: Any, keep: Any) -> Callable[[], Any]:
    app = tb.App("site")
    clicks = app.stream("clicks", "time timestamp, item string", time="time")
    return lambda: app.view("v", clicks, window=window, keep=keep, select={"n": tb.count()})


@pytest.mark.parametrize(
    ("window", "keep", "message"),
    [
        (None, "1 day", "its one window over all time never ends"),
        (tb.tumbling("1 minute"), "soon", "bad duration 'soon'"),
        (tb.rollup("minute", "hour"), {"day": "1 day"}, "unknown level 'day'"),
        (tb.sliding("1 hour", every="1 minute"), "30 minutes", "no window would ever be whole"),
    ],
)
def test_what_can_not_be_kept_is_refused(window: Any, keep: Any, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        declared(window, keep)()


def test_what_is_kept_is_part_of_the_definition() -> None:
    window = tb.rollup("minute", "hour")
    views = [
        declared(window, keep)() for keep in (None, "1 day", {"minute": "1 day"}, {"minute": "24 h", "hour": "1d"})
    ]
    assert len({identity(view) for view in views}) == 3
    assert identity(views[1]) == identity(views[3])
    for name, view in site().views.items():
        assert tb.App.of(site().definition()).views[name] == view
