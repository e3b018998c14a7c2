"""Figure: wrong, missing or mixed answers while clients ask all the time and views are switched and rolled back."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

import tarnbeck as tb
from bench.figure import Figure, Target
from bench.place import Place
from tarnbeck.cut import Cut
from tarnbeck.node import versions
from tarnbeck.node.versions import Office
from tarnbeck.plan.definition import identity, of_stream, of_view
from tarnbeck.plan.view import View
from tarnbeck.serve.http import application, serve
from tarnbeck.store.protocol import SPEED, Contribution
from tarnbeck.store.sqlite import SQLiteStore
from tarnbeck.store.state import Feeder

TARGET = Target(0, least=False)
SWITCHES = 200
CLIENTS = 8
JOINED = "select sums.n as n, total, most from sums, most"


def figures(place: Place) -> Iterator[Figure]:
    with place.fresh("switching") as folder:
        found = watch(folder, SWITCHES)
    yield Figure(
        "switching",
        f"wrong, missing or mixed answers of {CLIENTS} clients (queries and joins, from the folder and over HTTP) "
        f"throughout {SWITCHES} switches and rollbacks of two views",
        f"{found.wrong} of {found.asked:,} answers",
        "0",
        found.wrong,
        TARGET,
        notes=(f"{found.both} of {CLIENTS} clients saw answers of both versions",),
    )


@dataclass(frozen=True)
class Watched:
    """How many answers there were, how many of them no version gives, and how many clients saw both versions."""

    asked: int
    wrong: int
    both: int
    switches: int


def declared(factor: int) -> tb.App:
    app = tb.App("changing")
    events = app.stream("events", "time timestamp, n bigint", time="time", partitions=1)
    app.view("sums", events, select={"n": tb.count(), "total": tb.sum(f"{factor} * n")})
    app.view("most", events, select={"n": tb.count(), "most": tb.max(f"{factor} * n")})
    return app


def share(version: int, view: View, factor: int, start: int, end: int) -> Contribution:
    """The partial of events whose number is their offset."""
    numbers = range(start, end)
    figure = factor * sum(numbers) if view.name == "sums" else factor * (end - 1)
    values = {"s0": len(numbers), "s1": figure, "s2": len(numbers)}
    fields = [pa.array([values.get(field.name, 0)], pa.int64()).cast(field.type) for field in view.layout.arrow]
    partial = pa.Table.from_arrays(fields, schema=view.layout.arrow)
    return Contribution(version, Cut.of("topic", {0: start}), Cut.of("topic", {0: end}), view.layout, partial)


class Feed:
    """Feeds both versions of both views in one commit after another, as the speed layer does."""

    def __init__(self, store: SQLiteStore) -> None:
        self.store, self.end, self.token = store, 0, store.take_token(SPEED)
        self.fed: list[tuple[int, View, int]] = []
        for factor in (1, 2):
            for view in declared(factor).views.values():
                text = json.dumps(of_view(view))
                added = store.add_view(view.name, "events", text, identity(view), view.layout, Feeder.REPLAY)
                self.fed.append((added.id, view, factor))

    def commit(self) -> None:
        end = self.end + 10
        shares = [share(version, view, factor, self.end, end) for version, view, factor in self.fed]
        assert len(self.store.commit(self.token, shares).done) == len(self.fed)
        self.end = end


def factor_of(n: int, total: int, most: int | None) -> int:
    for factor in (1, 2):
        if total == factor * n * (n - 1) // 2 and most in (None, factor * (n - 1)):
            return factor
    raise AssertionError(f"neither definition says this of {n} events: {total}, {most}")


def by_query(client: tb.Client) -> int:
    answer = client.query("sums")
    (row,) = answer.dicts()
    if row["n"] != answer.records:
        raise AssertionError(f"{answer.records} events at the cut, but {row['n']} in the answer")
    return factor_of(row["n"], int(row["total"]), None)


def by_sql(client: tb.Client) -> int:
    (row,) = client.sql(JOINED).dicts()
    return factor_of(int(row["n"]), int(row["total"]), int(row["most"]))


def watch(folder: Path, switches: int) -> Watched:
    """Switches two views and rolls them back, each time after every client has asked once more."""
    store = SQLiteStore(folder / "store", clock=lambda: 0)
    (stream,) = declared(1).streams.values()
    store.register_stream("events", json.dumps(of_stream(stream)), stream.topic, Cut("topic"), Cut("topic"))
    feed = Feed(store)
    feed.commit()
    server = serve(application(store), "127.0.0.1", 0)
    stop, seen, asked = threading.Event(), [set[int]() for _ in range(CLIENTS)], [0] * CLIENTS
    wrong: list[str] = []
    ways: list[tuple[str, Callable[[tb.Client], int]]] = [
        (where, ask) for where in (str(folder), server.url) for ask in (by_query, by_sql)
    ]

    def ask(number: int) -> None:
        where, way = ways[number % len(ways)]
        with tb.connect(where) as client:
            while not stop.is_set():
                try:
                    seen[number].add(way(client))
                except Exception as error:
                    wrong.append(str(error))
                asked[number] += 1

    def commit() -> None:
        while not stop.wait(0.01):
            feed.commit()

    office = Office(store)
    with ThreadPoolExecutor(CLIENTS + 1) as pool:
        asking, committing = [pool.submit(ask, number) for number in range(CLIENTS)], pool.submit(commit)
        try:
            for turn in range(switches):
                before = list(asked)
                while any(now == then for now, then in zip(asked, before, strict=True)):
                    stop.wait(0.001)
                job = {"do": "rollback", "view": "most"} if turn % 2 else {"do": "switch", "views": ["sums", "most"]}
                versions.run(office, job)
        finally:
            stop.set()
            for each in (*asking, committing):
                each.result()
            server.stop()
    done = len({switch.id for switch in store.switches()})
    store.close()
    return Watched(sum(asked), len(wrong), sum(found == {1, 2} for found in seen), done)
