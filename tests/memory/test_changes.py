"""Joins with a table and its change log, against a naive reading of the same events."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import given
from pyarrow import parquet

import tarnbeck as tb
from tarnbeck.app import App
from tarnbeck.arrow.derive import derived
from tarnbeck.errors import DeclarationError
from tarnbeck.memory.changes import among, changes_of
from tarnbeck.memory.partials import partials, rows
from tarnbeck.schema.decode import events_schema
from tarnbeck.schema.stream import Stream
from tarnbeck.testing import run

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
WAIT = 2
PEOPLE = ("Sally", "Bob", None)
CITIES = ("Chicago", "Boston", None)


def town() -> tb.App:
    app = tb.App("town")
    moves = app.stream("moves", "time timestamp, person string, city string", time="time", key="person", partitions=2)
    calls = app.stream("calls", "time timestamp, who string, n int", time="time")
    homes = app.table("homes", moves, key="person", select=["city"], delete="city is null")
    app.join("placed", calls, homes, on="who", select={"time": "time", "n": "n", "city": "homes.city"}, wait="2 s")
    app.join("known", calls, homes, on={"person": "who"}, where="homes.city is not null")
    told = app.changes("told", homes)
    app.table("again", told, key="person", select={"city": "after.city"}, delete="after is null")
    return app


APP = town()
Happened = tuple[int, str | None, str | None, int]
"""Second of the event, person, city, seconds that it was under way."""
HAPPENED = st.lists(
    st.tuples(st.integers(0, 6), st.sampled_from(PEOPLE), st.sampled_from(CITIES), st.integers(0, 4)), max_size=20
)


def events(stream: Stream, happened: Sequence[dict[str, Any]], behind: Sequence[int]) -> pa.Table:
    """Events in the order of the log, by their key in one of two partitions."""
    offsets, found = [0, 0], []
    for event, late in zip(happened, behind, strict=True):
        partition = PEOPLE.index(event[stream.key]) % 2 if stream.key else 0
        place = {"_partition": partition, "_offset": offsets[partition], "_index": 0, "_extra": None}
        offsets[partition] += 1
        received = event["time"] + timedelta(seconds=late)
        found.append({**place, "_received": received, "_time": event["time"], **event})
    return pa.Table.from_pylist(found, schema=events_schema(stream))


def moved(happened: Sequence[Happened]) -> pa.Table:
    seen = [{"time": BEGIN + timedelta(seconds=s), "person": p, "city": c} for s, p, c, _ in happened]
    return events(APP.streams["moves"], seen, [late for *_, late in happened])


def called(happened: Sequence[Happened]) -> pa.Table:
    seen = [{"time": BEGIN + timedelta(seconds=s), "who": p, "n": n} for n, (s, p, _, _) in enumerate(happened)]
    return events(APP.streams["calls"], seen, [late for *_, late in happened])


def made(name: str, source: pa.Table, table: pa.Table) -> list[dict[str, Any]]:
    stream, homes = APP.streams[name], APP.views["homes"]
    assert stream.derived is not None
    lookup = among(changes_of(homes, partials(homes, rows(table))))
    return [json.loads(m.value) for m in derived(stream, APP.streams[stream.derived.source], source, homes, lookup)]


def home(moves: Sequence[dict[str, Any]], person: str | None, moment: datetime, known: datetime) -> str | None:
    found = [
        (m["_time"], m["_partition"], m["_offset"], m["city"])
        for m in moves
        if m["person"] == person and m["_time"] <= moment and m["_received"] <= known
    ]
    city: str | None = max(found, key=lambda move: move[:3])[3] if found else None
    return city


@given(HAPPENED, HAPPENED)
def test_an_event_gets_the_row_of_its_time_by_what_was_known_in_time(
    happened: list[Happened], calls: list[Happened]
) -> None:
    table, source = moved(happened), called(calls)
    moves, seen = table.to_pylist(), source.to_pylist()
    wait = timedelta(seconds=WAIT)
    expected = [home(moves, c["who"], c["_time"], c["_received"] + wait) for c in seen]
    assert [row["city"] for row in made("placed", source, table)] == expected
    at_once = [home(moves, c["who"], c["_time"], c["_received"]) for c in seen]
    found = made("known", source, table)
    assert [row["homes"] for row in found] == [{"city": city} for city in at_once if city is not None]


@given(HAPPENED, st.lists(st.integers(0, 20), max_size=3))
def test_a_change_log_is_the_same_wherever_batches_end_and_gives_the_table_back(
    happened: list[Happened], ends: list[int]
) -> None:
    table = moved(happened)
    whole = made("told", table, table)
    cuts = sorted({0, *(end for end in ends if end < len(happened)), len(happened)})
    parts = [table.slice(a, b - a) for a, b in itertools.pairwise(cuts)]
    # A batch may know more of the table than what came before it, and must not use it.
    split = [change for part in parts for change in made("told", part, table)]
    assert sorted(split, key=lambda change: change["cut"]) == sorted(whole, key=lambda change: change["cut"])
    holds: dict[str | None, tuple[Any, ...]] = {}
    expected = []
    for move in sorted(table.to_pylist(), key=lambda m: (m["_partition"], m["_offset"])):
        person, order = move["person"], (move["_time"], move["_offset"])
        before = holds.get(person)
        if before is None or order > before[0]:
            holds[person] = order, move["city"]
            old = None if before is None else before[1]
            if old != move["city"]:
                expected.append((f"{move['_partition']}:{move['_offset'] + 1}", person, old, move["city"]))
    found = [
        (c["cut"], c["person"], *(None if c[side] is None else c[side]["city"] for side in ("before", "after")))
        for c in whole
    ]
    assert found == expected


def test_a_definition_is_read_back() -> None:
    assert App.of(APP.definition()).definition() == APP.definition()


FILES = {
    "countries.csv": "code,name,people\nAT,Austria,9\nDE,Germany,84\nXX,,\n",
    "countries.jsonl": '{"code":"AT","name":"Austria","people":9}\n{"code":"DE","name":"Germany","people":84}\n'
    '{"code":"XX","name":null,"people":null}\n',
}


@pytest.mark.parametrize("name", [*FILES, "countries.parquet", "rows"])
def test_events_are_joined_with_static_data_of_a_file(name: str, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in FILES["countries.jsonl"].splitlines()]
    if name in FILES:
        (tmp_path / name).write_text(FILES[name])
    elif name != "rows":
        parquet.write_table(pa.Table.from_pylist(rows), tmp_path / name)
    app = tb.App("shop")
    orders = app.stream("orders", "time timestamp, country string, n int", time="time")
    source = rows if name == "rows" else tmp_path / name
    countries = app.static("countries", source, "code string, name string, people int", key="code")
    app.join("named", orders, countries, on="country", select={"time": "time", "n": "n", "name": "countries.name"})
    app.join("whole", orders, countries, on="country", where="countries.people > 10")
    assert App.of(app.definition()).definition() == app.definition()
    codes = ("DE", "XX", "FR", None, "AT")
    sent = [{"time": "1850-03-01T00:00:00Z", "country": code, "n": n} for n, code in enumerate(codes)]
    app.view("all", app.streams["named"], by="name", select={"n": tb.collect("n")})
    app.view("large", app.streams["whole"], select={"n": tb.collect("n")})
    found = run(App.of(app.definition()), {"orders": sent})
    assert {row["name"]: row["n"] for row in found["all"]} == {"Germany": [0], "Austria": [4], None: [1, 2, 3]}
    assert found["large"] == [{"n": [0]}]
    earliest = run(app, {"orders": [{"time": "0002-01-01T00:00:00Z", "country": "AT", "n": 7}]})
    assert earliest["all"] == [{"name": "Austria", "n": [7]}]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("countries.txt", "", "can't read"),
        ("missing.csv", None, "no file"),
        ("countries.csv", "code\nAT\n", "has no column 'people'"),
        ("countries.csv", "code,people\nAT,many\n", "invalid value 'many'"),
        ("countries.csv", "code,people\n" + "\n".join(f"{n},{n}" for n in range(60_000)), "its rows are too many"),
    ],
)
def test_a_file_that_can_not_be_static_data_is_refused(
    name: str, content: str | None, message: str, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(DeclarationError, match=message):
        tb.App("shop").static("countries", tmp_path / name, "code string, people int", key="code")


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda app: app.join("j", app.streams["calls"], app.views["homes"], on="n"), "expected string, found int"),
        (lambda app: app.join("j", app.streams["calls"], app.views["homes"]), "unknown column 'person'"),
        (lambda app: app.join("j", app.streams["calls"], app.views["homes"], on={"city": "who"}), "unknown key 'city'"),
        (lambda app: app.join("j", app.streams["calls"], app.views["again"], on="who"), "is of a derived stream"),
        (lambda app: app.join("j", app.streams["calls"], app.views["homes"], on="who", wait="long"), "wait='long'"),
        (lambda app: app.join("j", app.streams["calls"], APP.views["homes"], on="who"), "its table is not one of app"),
        (lambda app: app.changes("c", app.table("t", app.streams["moves"], key="city")), "in several partitions"),
        (lambda app: app.changes("c", app.view("v", app.views["homes"], select={"n": tb.count()})), "is no table"),
    ],
)
def test_a_wrong_declaration_is_refused(declare: Any, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        declare(town())
