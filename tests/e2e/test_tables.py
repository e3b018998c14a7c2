"""Tables on the real log, lake and store: rows, joins and change logs are what a pencil finds in the raw records."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import tarnbeck as tb
from tarnbeck.log.broker import Broker
from tarnbeck.log.follow import Record
from tests.e2e.rig import Rig

pytestmark = [pytest.mark.spark, pytest.mark.broker]

CITIES = ("Philadelphia", "Chicago", "New York", None)
PEOPLE = ("Sally", "Bob", "Eve")
WAIT = timedelta(seconds=1)


def town(name: str, mode: Any) -> tb.App:
    app = tb.App(name, mode=mode)
    moves = app.stream("moves", "time timestamp, person string, city string", time="time", key="person")
    calls = app.stream("calls", "time timestamp, who string, minutes int", time="time", key="who")
    homes = app.table("homes", moves, key="person", select=["city"], delete="city is null")
    app.view("living", homes, by="city", select={"people": tb.count()})
    select = {"time": "time", "who": "who", "minutes": "minutes", "city": "homes.city"}
    placed = app.join("placed", calls, homes, on="who", select=select, wait="1 second")
    app.view("by_city", placed, by="city", select={"calls": tb.count(), "minutes": tb.sum("minutes")})
    told = app.changes("told", homes)
    app.table("again", told, key="person", select={"city": "after.city"}, delete="after is null")
    return app


def at(day: int) -> str:
    return (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=day)).isoformat()


def moves(rng: random.Random, count: int) -> list[dict[str, Any]]:
    return [
        {"time": at(rng.randrange(30)), "person": rng.choice(PEOPLE), "city": rng.choice(CITIES)} for _ in range(count)
    ]


def calls(rng: random.Random, numbers: range) -> list[dict[str, Any]]:
    return [{"time": at(rng.randrange(31)), "who": rng.choice((*PEOPLE, "nobody")), "minutes": n} for n in numbers]


def read(records: Iterable[Record]) -> list[tuple[Record, dict[str, Any]]]:
    return [(record, json.loads(record.value or b"")) for record in records]


def home(moved: Iterable[tuple[Record, dict[str, Any]]], person: str) -> Any:
    """The city of the latest move of a person."""
    found = [(each["time"], r.partition, r.offset, each["city"]) for r, each in moved if each["person"] == person]
    return max(found, key=lambda move: move[:3])[3] if found else None


@pytest.mark.parametrize("mode", ["lambda", "kappa"])
def test_tables_joins_and_change_logs_equal_a_recount(
    broker: Broker, spark: Any, topic_name: str, tmp_path: Path, mode: str
) -> None:
    rng = random.Random(9)
    rig = Rig(town(f"town{topic_name.replace('-', '')[-8:]}", mode), broker.settings, spark, tmp_path)
    rig.register()
    for part in range(2):
        rig.send_events("moves", moves(rng, 40))
        rig.send_events("calls", calls(rng, range(60 * part, 60 * part + 60)))
        rig.derive({"placed": 60 * (part + 1)})
        if not part and mode == "lambda":
            rig.mirror()
            for view in rig.app.views:
                rig.batch(view, full=False)
    moved, called = read(rig.records("moves")), read(rig.records("calls"))
    # The table, and a view over it.
    expected = {person: home(moved, person) for person in PEOPLE}
    expected = {person: city for person, city in expected.items() if city is not None}
    assert {row["person"]: row["city"] for row in rig.answered("homes", "all")[1]} == expected
    living = {row["city"]: row["people"] for row in rig.answered("living", "all")[1]}
    assert living == {city: list(expected.values()).count(city) for city in set(expected.values())}
    # Every call has the city of its time, by the moves that the log had received within a second after it.
    placed = {each["minutes"]: each["city"] for _, each in read(rig.records("placed"))}
    expected_cities = {}
    for record, call in called:
        known = [
            (r, each) for r, each in moved if r.timestamp <= record.timestamp + WAIT and each["time"] <= call["time"]
        ]
        expected_cities[call["minutes"]] = home(known, call["who"])
    assert placed == expected_cities
    # The change log says, in the order of the log, what became of each row; the table made of it is the same.
    holds: dict[str, tuple[Any, ...]] = {}
    changes = []
    for record, each in sorted(moved, key=lambda found: (found[0].partition, found[0].offset)):
        person, order = each["person"], (each["time"], record.offset)
        before = holds.get(person)
        if before is None or order > before[0]:
            holds[person] = (order, each["city"])
            old = None if before is None else before[1]
            if old != each["city"]:
                changes.append((f"{record.partition}:{record.offset + 1}", person, old, each["city"]))
    told = [
        (each["cut"], each["person"], *((each[side] or {}).get("city") for side in ("before", "after")))
        for _, each in read(rig.records("told"))
    ]
    assert sorted(told) == sorted(changes)
    assert rig.answered("again", "all")[1] == rig.answered("homes", "all")[1]
    rig.mirror()
    for view in rig.app.views:
        assert rig.audit(view).equal, view
