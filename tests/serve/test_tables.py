"""A table at any moment, on both axes of time, is what a person finds who goes through the log with a pencil."""

from __future__ import annotations

import datetime
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import given, settings
from typer.testing import CliRunner

import tarnbeck as tb
from tarnbeck.app import App
from tarnbeck.arrow import partials as kernel
from tarnbeck.cli import main
from tarnbeck.errors import DeclarationError, TarnbeckError, UsageError
from tarnbeck.memory.partials import partials
from tarnbeck.serve import held
from tarnbeck.serve.answer import Question, answer, quick
from tarnbeck.serve.difference import compare
from tarnbeck.serve.http import application, serve
from tarnbeck.store.rows import from_arrow
from tarnbeck.store.sqlite import SQLiteStore
from tarnbeck.testing import run
from tests.effort import tries
from tests.serve.sample import BEGIN, NOW, Event, cut_after, feed, filled, register

CITIES = ("Philadelphia", "Chicago", "New York", None)
PEOPLE = ("Sally", "Bob", None)


def town() -> tb.App:
    app = tb.App("town")
    moves = app.stream("moves", "time timestamp, person string, city string, rent decimal(9,2)", time="time")
    homes = app.table("homes", moves, key="person", delete="city is null")
    app.table("flats", moves, key=["person", "city"], select={"cost": "rent * 12"}, where="rent > 5")
    app.view("living", homes, by="city", select={"people": tb.count(), "rent": tb.sum("rent"), "least": tb.min("rent")})
    app.view("dear", homes, by={"letter": "left(city, 1)"}, where="rent > 5", select={"who": tb.values("person")})
    return app


Move = tuple[int, int, str | None, str | None, int | None, int]
"""Partition, second, person, city, rent in cents, seconds that it was under way."""

MOVES = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.integers(0, 9),
        st.sampled_from(PEOPLE),
        st.sampled_from(CITIES),
        st.none() | st.integers(0, 1000),
        st.integers(0, 5),
    ),
    max_size=25,
)


def events_of(moves: Iterable[Move]) -> list[Event]:
    offsets, events = [0, 0], []
    for partition, second, person, city, cents, behind in moves:
        moment = BEGIN + datetime.timedelta(seconds=second)
        place = {"_partition": partition, "_offset": offsets[partition], "_index": 0}
        offsets[partition] += 1
        rent = None if cents is None else Decimal(cents).scaleb(-2)
        times = {"_received": moment + datetime.timedelta(seconds=behind), "_time": moment, "time": moment}
        events.append({**place, **times, "person": person, "city": city, "rent": rent})
    return events


def residents(events: Iterable[Event], until: datetime.datetime | None = None) -> dict[Any, Event]:
    """Where everybody lives by these events: the latest of each person, unless it says that there is no home."""
    latest: dict[Any, Event] = {}
    for event in sorted(events, key=lambda e: (e["_time"], e["_partition"], e["_offset"])):
        if until is None or event["_time"] <= until:
            latest[event["person"]] = event
    return {person: event for person, event in latest.items() if event["city"] is not None}


def shown(homes: dict[Any, Event]) -> list[tuple[Any, ...]]:
    ordered = sorted(homes.items(), key=lambda item: (item[0] is not None, item[0] or ""))
    return [(person, event["time"], event["city"], event["rent"]) for person, event in ordered]


def counted(homes: dict[Any, Event]) -> dict[str, tuple[int, Decimal | None, Decimal | None]]:
    found = {}
    for city, people in Counter(event["city"] for event in homes.values()).items():
        rents = [event["rent"] for event in homes.values() if event["city"] == city and event["rent"] is not None]
        found[city] = (people, sum(rents, Decimal(0)) if rents else None, min(rents, default=None))
    return found


def check(client: tb.Client, events: list[Event], all_events: list[Event], **moment: Any) -> None:
    """Everything that can be asked of a moment, against what these events say of it."""
    until = moment.get("as_of")
    homes = residents(events, until)
    assert client.query("homes", **moment).rows == shown(homes)
    for person in PEOPLE:
        found = client.query("homes", person=person, **moment).rows
        assert found == [row for row in shown(homes) if row[0] == person]
    several = client.query("homes", person=["Sally", None], **moment).rows
    assert several == [row for row in shown(homes) if row[0] in ("Sally", None)]
    cities = [row for row in client.query("flats", **moment).rows if row[1] in ("Chicago", None)]
    assert client.query("flats", city=["Chicago", None], **moment).rows == cities
    living = {row["city"]: (row["people"], row["rent"], row["least"]) for row in client.query("living", **moment)}
    assert living == counted(homes)
    for city in CITIES[:3]:
        (count,) = [row["people"] for row in client.query("living", city=city, **moment)] or [0]
        assert count == sum(event["city"] == city for event in homes.values())
    latest: dict[Any, Event] = {}
    for event in sorted(events, key=lambda e: (e["_time"], e["_partition"], e["_offset"])):
        if (until is None or event["_time"] <= until) and (event["rent"] or 0) > 5:
            latest[event["person"], event["city"]] = event
    flats = {(row["person"], row["city"]): row["cost"] for row in client.query("flats", **moment)}
    assert flats == {key: event["rent"] * 12 for key, event in latest.items()}
    if until is None and len(events) == len(all_events):
        dear: dict[str, set[Any]] = {}
        for person, event in homes.items():
            if (event["rent"] or 0) > 5:
                dear.setdefault(event["city"][0], set()).add(person)
        assert {row["letter"]: set(row["who"]) for row in client.query("dear")} == {
            letter: who - {None} for letter, who in dear.items()
        }


@settings(max_examples=tries(25), deadline=None)
@given(MOVES, st.integers(0, 9), st.integers(0, 14), st.integers(0, 25))
def test_every_moment_on_both_axes_equals_a_recount(moves: list[Move], as_of: int, known: int, seen: int) -> None:
    events = events_of(moves)
    with tempfile.TemporaryDirectory() as folder:
        store = filled(Path(folder) / "store", town(), events)
        then = BEGIN + datetime.timedelta(seconds=as_of)
        received = BEGIN + datetime.timedelta(seconds=known)
        below = events[:seen]
        with tb.connect(folder) as client:
            check(client, events, events)
            check(client, events, events, as_of=then)
            check(client, [e for e in events if e["_received"] <= received], events, known=received)
            check(client, below, events, at_cut=str(cut_after(below)))
            late = [e for e in below if e["_received"] <= received]
            check(client, late, events, as_of=then, known=received, at_cut=str(cut_after(below)))
        store.close()


@settings(max_examples=tries(25), deadline=None)
@given(MOVES)
def test_memory_and_the_kernel_agree(moves: list[Move]) -> None:
    events = events_of(moves)
    columns = {name: [event[name] for event in events] for name in (events or events_of([(0, 0, "a", "b", 1, 0)]))[0]}
    kinds = dict.fromkeys(("_received", "_time", "time"), pa.timestamp("us", "UTC")) | {"rent": pa.decimal128(9, 2)}
    kinds |= {"person": pa.string(), "city": pa.string()}
    table = pa.table({name: pa.array(values, kinds.get(name, pa.int64())) for name, values in columns.items()})
    for view in town().views.values():
        (partial,) = kernel.partials(kernel.steps(view), table)
        found = from_arrow(partial, view.layout)
        assert {(found.keys[k], level, pane): s for (level, k, pane), s in found.states.items()} == partials(
            view, events
        )


def test_only_a_table_by_its_own_key_is_asked_where_everybody_waits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A view over a table finds its rows by going through all of them, and so does a moment that no index knows."""
    app = town()
    app.view("everybody", app.views["homes"], by=(), select={"people": tb.count()})
    store = filled(tmp_path / "store", app, events_of([(0, 1, "Bob", "Chicago", 900, 0)]))
    bob = Question("homes", {"person": "Bob"})
    assert quick(store, bob, NOW) == answer(store, bob)
    then = replace(bob, when=held.When(as_of=NOW))
    assert quick(store, then, NOW) == answer(store, then)
    walked = [
        Question("living", {"city": "Chicago"}),
        Question("dear", {"letter": "C"}),
        Question("everybody"),
        Question("flats", {"person": "Bob"}),
        replace(bob, when=held.When(known=NOW)),
        replace(bob, when=held.When(at_cut=cut_after([]))),
    ]
    monkeypatch.setattr(held, "chosen", _nothing_is_read)
    assert [quick(store, each, NOW) for each in walked] == [None] * len(walked)
    store.close()


def _nothing_is_read(*_: Any) -> None:
    raise AssertionError("rows were read")


def test_many_rows_are_aggregated_as_few_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    moves = [(n % 2, n % 10, f"person {n % 150}", CITIES[n % 4], n, 0) for n in range(400)]
    store = filled(tmp_path / "store", town(), events_of(moves))
    with tb.connect(tmp_path) as client:
        many = {name: client.query(name).rows for name in town().views}
    store.close()
    monkeypatch.setattr(held, "FEW", 1000)
    with tb.connect(tmp_path) as client:
        assert {name: client.query(name).rows for name in town().views} == many
    assert len(many["homes"]) > held.FEW / 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Sally lived in Philadelphia, Bob moves to Chicago; then it turns out that Sally had moved to New York before."""
    moves: list[Move] = [
        (0, 0, "Sally", "Philadelphia", 700, 0),
        (0, 5, "Bob", "Chicago", 500, 0),
        (0, 3, "Sally", "New York", 900, 4),
    ]
    filled(tmp_path / "store", town(), events_of(moves)).close()
    return tmp_path


def test_what_was_true_and_what_was_known_are_two_questions(folder: Path) -> None:
    fourth = BEGIN + datetime.timedelta(seconds=4)
    with tb.connect(folder) as client:

        def city(**moment: Any) -> str:
            (row,) = client.query("homes", person="Sally", **moment).dicts()
            return str(row["city"])

        assert city() == "New York"
        assert city(as_of=BEGIN) == "Philadelphia"
        assert city(as_of=fourth) == "New York"
        assert city(as_of=fourth, known=fourth) == "Philadelphia"
        assert city(at_cut="0:2") == "Philadelphia"
        assert client.query("homes", at_cut="0:2").cut == cut_after(events_of([(0, 0, "a", "b", 1, 0)] * 2))


def test_sql_http_and_the_command_line_ask_for_the_same_moments(folder: Path) -> None:
    moment = (BEGIN + datetime.timedelta(seconds=2)).isoformat()
    with tb.connect(folder) as client:
        expected = client.query("homes", as_of=moment).dicts()
        assert client.sql("select * from homes(as_of => '2026-03-01 10:00:02') order by person").dicts() == expected
        assert client.sql("select city from homes where person = 'Sally'").dicts() == [{"city": "New York"}]
        assert client.sql("select city from homes(at_cut => '0:1')").dicts() == [{"city": "Philadelphia"}]
        moved = (
            "select now.person, before.city as moved_from, now.city as moved_to "
            "from homes as now join homes(as_of => '2026-03-01 10:00:00') as before using (person) "
            "where now.city <> before.city"
        )
        row = {"person": "Sally", "moved_from": "Philadelphia", "moved_to": "New York"}
        assert client.sql(moved).dicts() == [row]
        early = "select people from living(known => timestamp '2026-03-01 10:00:01') as l"
        assert client.sql(early).dicts() == [{"people": 1}]
    store = SQLiteStore(folder / "store", clock=lambda: 0)
    server = serve(application(store), "127.0.0.1", 0)
    try:
        with tb.connect(server.url) as client:
            assert client.query("homes", as_of=moment).dicts() == expected
            assert client.query("living", at_cut="0:1").dicts()[0]["people"] == 1
    finally:
        server.stop()
        store.close()
    found = CliRunner().invoke(
        main.application(), ["query", "homes", "--as-of", moment, "--csv", "--folder", str(folder)]
    )
    assert found.stdout.splitlines()[1].split(",")[0::2] == ["Sally", "Philadelphia"]


@pytest.mark.parametrize(
    ("view", "moment", "message"),
    [
        ("homes", {"as_of": "tomorrow"}, "bad time in as_of='tomorrow'"),
        ("homes", {"at_cut": "5"}, "at_cut: bad cut '5'"),
        ("homes", {"at_cut": "0:99"}, "at_cut 0:99 is ahead of it"),
        ("homes", {"since": "2026-01-01"}, "it has one window over all time"),
    ],
)
def test_a_moment_that_makes_no_sense_is_refused(folder: Path, view: str, moment: Any, message: str) -> None:
    with tb.connect(folder) as client, pytest.raises(UsageError, match=message):
        client.query(view, **moment)


def test_a_view_that_is_no_table_has_one_moment_only(tmp_path: Path) -> None:
    app = tb.App("town")
    moves = app.stream("moves", "time timestamp, person string", time="time")
    app.view("counts", moves, by="person", select={"n": tb.count()})
    filled(tmp_path / "store", app, []).close()
    with tb.connect(tmp_path) as client, pytest.raises(UsageError, match="it is no table"):
        client.query("counts", as_of="2026-01-01")


def test_two_versions_of_a_table_are_compared_by_the_rows_that_hold(tmp_path: Path) -> None:
    store = filled(tmp_path / "store", town(), events_of([(0, 1, "Sally", "Chicago", 700, 0)] * 3))
    version = store.aliases()["homes"]
    assert compare(store, "homes", version, version, patience=0).rows == 1
    store.close()


def test_a_definition_is_read_back_and_says_what_is_kept() -> None:
    definition = town().definition()
    assert App.of(definition).definition() == definition
    by_name = {view["name"]: view for view in definition["views"]}
    assert "over" not in by_name["homes"]
    # Only what its aggregates need.
    assert by_name["living"]["table"]["select"] == {"city": "city", "rent": "rent"}


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda app, s: app.table("t", s, key=[]), "it has no key"),
        (lambda app, s: app.table("t", s, key="who"), "unknown column 'who'"),
        (lambda app, s: app.table("t", s, key="person"), "column 'tags' of stream 'moves' holds more than one value"),
        (lambda app, s: app.table("t", s, key="person", select=[]), "no column beside its key"),
        (lambda app, s: app.table("t", s, key="person", select=["city"], delete="city"), "expected boolean"),
        (lambda app, s: app.view("v", app.views["plain"], select={"n": tb.count()}), "view 'plain' is no table"),
        (
            lambda app, s: app.view(
                "v",
                app.table("t", s, key="person", select=["city"]),
                window=tb.tumbling("1 day"),
                select={"n": tb.count()},
            ),
            "it takes no window, late or keep",
        ),
        (lambda app, s: app.view("v", town().views["homes"], select={"n": tb.count()}), "not a table of app 'x'"),
    ],
)
def test_a_wrong_declaration_is_refused(declare: Any, message: str) -> None:
    app = tb.App("x")
    moves = app.stream("moves", "time timestamp, person string, city string, tags array<string>", time="time")
    app.view("plain", moves, select={"n": tb.count()})
    with pytest.raises(DeclarationError, match=message):
        declare(app, moves)


def test_a_table_runs_in_memory_too() -> None:
    sent = [
        {"time": "2026-01-01T00:00:00Z", "person": "Sally", "city": "Philadelphia"},
        {"time": "2026-01-03T00:00:00Z", "person": "Sally", "city": "New York"},
        {"time": "2026-01-02T00:00:00Z", "person": "Bob", "city": "Chicago"},
    ]
    found = run(town(), sent)
    assert [row["city"] for row in found["homes"]] == ["Chicago", "New York"]
    assert [row["city"] for row in found.rows("homes", as_of="2026-01-02")] == ["Chicago", "Philadelphia"]
    assert [row["people"] for row in found.rows("living", as_of="2026-01-01")] == [1]
    with pytest.raises(TarnbeckError, match="bad time"):
        found.rows("homes", as_of="yesterday")


def test_a_live_question_follows_the_rows_that_hold(tmp_path: Path) -> None:
    app, store = town(), SQLiteStore(tmp_path / "store", clock=lambda: 0)
    register(store, app)
    first: list[Move] = [(0, 1, "Sally", "Chicago", 700, 0), (0, 2, "Bob", "Chicago", 500, 0)]
    events = events_of(first)
    later = events_of([*first, (0, 3, "Sally", "New York", 900, 0), (0, 4, "Bob", None, None, 0)])[2:]
    feed(store, app, [], events)
    with tb.connect(tmp_path) as client:
        homes, living = (iter(client.live(name, seconds=20)) for name in ("homes", "living"))
        assert [row["city"] for row, _ in next(homes)] == ["Chicago", "Chicago"]
        assert [row["people"] for row, _ in next(living)] == [2]
        feed(store, app, events, later)
        update = next(homes)
        assert [(row["person"], row["city"]) for row, _ in update] == [("Sally", "New York")]
        assert [row[0] for row in update.removed] == ["Bob"]
        followed = next(living)
        assert [(row["city"], row["people"]) for row, _ in followed] == [("New York", 1)]
        assert [row[0] for row in followed.removed] == ["Chicago"]
    store.close()
