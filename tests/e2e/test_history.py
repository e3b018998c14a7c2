"""Older events from files beside live ones: every answer says which it covers, and equals a recount, in both modes."""

from __future__ import annotations

import datetime as dt
import json
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tarnbeck as tb
from tarnbeck.app import Mode
from tarnbeck.errors import LakeError
from tarnbeck.lake import history, quarantine, writer
from tarnbeck.lake import tables as lake
from tarnbeck.lake.tables import Tables
from tarnbeck.log.broker import Broker
from tarnbeck.node.desk import Desk
from tests.e2e.rig import Rig
from tests.e2e.test_kappa import job

pytestmark = [pytest.mark.spark, pytest.mark.broker]

Row = dict[str, Any]


def old(count: int, seed: int) -> list[Row]:
    """Events of five years ago."""
    rng = random.Random(seed)
    begin = dt.datetime(2021, 3, 1, tzinfo=dt.UTC)
    return [
        {
            "time": begin + dt.timedelta(seconds=rng.randrange(90_000)),
            "k": rng.choice("abc"),
            "n": rng.randrange(-9, 99),
        }
        for _ in range(count)
    ]


def text(row: Row) -> bytes:
    return json.dumps({**row, "time": row["time"].isoformat()}).encode()


def application(topic: str, mode: Mode, folder: Path) -> tb.App:
    app = tb.App("old", mode=mode)
    names = [str(folder / name) for name in ("*.parquet", "*.csv", "*.jsonl")]
    events = app.stream("events", "time timestamp, k string, n bigint", time="time", topic=topic, history=names)
    select = {"n": tb.count(), "total": tb.sum("n"), "first": tb.first("n"), "newest": tb.last("n")}
    app.view("days", events, by="k", window=tb.rollup("hour", "day"), select=select)
    app.view("some", events, by="k", late="drop after 1 hour", select={"n": tb.count(), "all": tb.distinct("n")})
    return app


def naive(rows: list[Row]) -> dict[str, tuple[int, int]]:
    """Count and sum by key; shares no code with what it judges."""
    return {
        key: (len(own), sum(own))
        for key in sorted({row["k"] for row in rows})
        if (own := [row["n"] for row in rows if row["k"] == key])
    }


def answered(rig: Rig) -> tuple[str, dict[str, tuple[int, int]]]:
    cut, rows = rig.answered("days", "day")
    found: dict[str, tuple[int, int]] = {}
    for row in rows:
        n, total = found.get(row["k"], (0, 0))
        found[row["k"]] = n + row["n"], total + row["total"]
    return str(cut), dict(sorted(found.items()))


def load(rig: Rig) -> history.Loaded:
    return history.load(
        rig.spark, rig.store, rig.root, "events", Path.cwd(), told=lambda _: None, stop=threading.Event()
    )


def places(rig: Rig) -> list[tuple[int, int]]:
    """Of all events in the lake, up to its cut."""
    state = rig.store.streams()["events"]
    span = state.origin.span_to(state.lake_cut)
    rows = lake.read(rig.spark, Tables(rig.root, rig.app.streams["events"]), span)
    return sorted((row[0], row[1]) for row in rows.select("_partition", "_offset").collect())


@pytest.mark.parametrize("mode", ["lambda", "kappa"])
def test_history_is_counted_beside_live_events_and_every_answer_says_whether_it_is_in(
    mode: Mode, spark: Any, broker: Broker, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    data, rows = tmp_path / "data", [old(400, seed) for seed in range(4)]
    data.mkdir()
    pq.write_table(pa.Table.from_pylist(rows[0]), data / "a.parquet", row_group_size=100)
    lines = [f"{row['time'].isoformat()},{row['k']},{row['n']}" for row in rows[1]]
    (data / "b.csv").write_text("\n".join(["time,k,n", *lines, "yesterday,a,1", "a,b"]) + "\n")
    (data / "c.jsonl").write_bytes(b"\n".join([*map(text, rows[2]), b"{"]))
    rig = Rig(application(unique("old"), mode, data), broker.settings, spark, tmp_path / "app")
    rig.register()
    desk = Desk(spark, rig.log, rig.store, rig.root, threading.Event())

    live = [{**row, "time": row["time"].replace(year=2026)} for row in old(200, 9)]
    rig.send("events", [text(row) for row in live[:100]])
    rig.speed()
    assert answered(rig)[1] == naive(live[:100])
    loaded = job(desk, do="history", stream="events")
    assert (loaded["files"], loaded["rows"], loaded["quarantined"]) == (3, 1203, 3)
    assert load(rig).rows == 1203
    # It is in the lake, not yet in an answer: that says so.
    cut, found = answered(rig)
    assert ("history" in cut, found) == (False, naive(live[:100]))
    rig.send("events", [text(row) for row in live[100:150]])
    rig.mirror()
    job(desk, do="batch")
    # Speed is behind what the batch took in, and goes on with it.
    cut, found = answered(rig)
    assert cut.startswith("history:1203 ")
    rig.speed()
    everything = [*rows[0], *rows[1], *rows[2], *live[:150]]
    assert answered(rig)[1] == naive(everything)
    assert all(view["equal"] for view in job(desk, do="audit")["views"])

    # A file that is added later comes behind the others, while speed is ahead of the lake.
    (data / "a-new.jsonl").write_bytes(b"\n".join(map(text, rows[3])))
    rig.send("events", [text(row) for row in live[150:]])
    rig.speed()
    assert load(rig).rows == 1603
    if mode == "lambda":
        rig.mirror()
    job(desk, do="batch")
    cut, found = answered(rig)
    assert cut.startswith("history:1603 ")
    assert found == naive([*everything, *rows[3], *live[150:]])
    assert all(view["equal"] for view in job(desk, do="audit")["views"])
    assert rig.answered("some", "all")[1] == rig.answered("some", "all")[1]

    rig.mirror()
    assert len(places(rig)) == len(set(places(rig))) == 1600 + len(live)
    state = rig.store.streams()["events"]
    bad = quarantine.select(spark, Tables(rig.root, rig.app.streams["events"]), state, None)
    assert sorted((row.offset, row.value) for row in bad if row.partition == -1) == [
        (800, b'{"time":"yesterday","k":"a","n":1}'),
        (801, b"a,b"),
        (1202, b"{"),
    ]
    shown = job(desk, do="quarantine", action="show", stream="events", place=[-1, 801])["event"]
    assert shown["reason"] == "3 cells expected as in the header, 2 found"
    # A new version is filled from the lake, with history, and is equal.
    job(desk, do="replay", view="days")
    assert job(desk, do="verify", view="days")["equal"]


def test_a_loader_that_dies_anywhere_is_followed_by_one_that_loads_each_row_once(
    spark: Any, broker: Broker, tmp_path: Path, unique: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, rows = tmp_path / "data", old(900, 1)
    data.mkdir()
    for number in range(3):
        own = rows[number * 300 : number * 300 + 300]
        (data / f"{number}.jsonl").write_bytes(b"\n".join([*map(text, own), b"no json"]))
    rig = Rig(application(unique("old"), "lambda", data), broker.settings, spark, tmp_path / "app")
    rig.register()
    monkeypatch.setattr(history, "STEP_ROWS", 301)
    deaths = fail_at(rig, monkeypatch)
    for where in deaths:
        with pytest.raises(Death, match=where):
            load(rig)
    assert load(rig).rows == 903
    assert places(rig) == [(-1, n) for n in range(903) if n % 301 != 300]
    state = rig.store.streams()["events"]
    bad = quarantine.select(spark, Tables(rig.root, rig.app.streams["events"]), state, None)
    assert [row.offset for row in bad] == [300, 601, 902]

    (data / "1.jsonl").write_bytes(text(rows[0]))
    with pytest.raises(LakeError, match=r"'.*1.jsonl' has changed since its 301 rows were loaded"):
        load(rig)
    (data / "1.jsonl").unlink()
    assert load(rig).rows == 903
    (data / "renamed.jsonl").write_bytes((data / "2.jsonl").read_bytes())
    with pytest.raises(LakeError, match=r"'.*renamed.jsonl' has the same content as '.*2.jsonl'"):
        load(rig)


class Death(BaseException):
    """A process ends here."""


def fail_at(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Between the intent and the events, the events and the quarantine, the quarantine and the close."""
    append, counted = writer._append, 0

    def dies(where: str, *, before: bool, call: int) -> None:
        nonlocal counted
        counted = 0

        def appended(frame: Any, to: Any, path: str) -> None:
            nonlocal counted
            counted += 1
            if counted == call and before:
                raise Death(where)
            append(frame, to, path)
            if counted == call:
                raise Death(where)

        monkeypatch.setattr(writer, "_append", appended)

    for where, before, call in (
        ("intent", True, 1),
        ("events", False, 1),
        ("quarantine", False, 2),
        ("later", True, 3),
    ):
        dies(where, before=before, call=call)
        yield where
    monkeypatch.setattr(writer, "_append", append)
