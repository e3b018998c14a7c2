"""Clients that ask all the time while views are switched and rolled back: old answers or new ones, nothing else."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

import tarnbeck as tb
from tarnbeck.cut import Cut
from tarnbeck.node import versions
from tarnbeck.node.versions import Office
from tarnbeck.plan.definition import identity, of_stream, of_view
from tarnbeck.plan.view import View
from tarnbeck.serve.http import application, serve
from tarnbeck.store.protocol import SPEED, Contribution
from tarnbeck.store.sqlite import SQLiteStore
from tarnbeck.store.state import Feeder

CLIENTS = 8
JOINED = "select sums.n as n, total, most from sums, most"


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


@pytest.fixture
def feed(tmp_path: Path) -> Iterator[Feed]:
    store = SQLiteStore(tmp_path / "store", clock=lambda: 0)
    (stream,) = declared(1).streams.values()
    store.register_stream("events", json.dumps(of_stream(stream)), stream.topic, Cut("topic"), Cut("topic"))
    feeding = Feed(store)
    feeding.commit()
    yield feeding
    store.close()


def factor_of(n: int, total: int, most: int | None) -> int:
    for factor in (1, 2):
        if total == factor * n * (n - 1) // 2 and most in (None, factor * (n - 1)):
            return factor
    raise AssertionError(f"neither definition says this of {n} events: {total}, {most}")


def by_query(client: tb.Client) -> int:
    answer = client.query("sums")
    (row,) = answer.dicts()
    assert row["n"] == answer.records
    return factor_of(row["n"], int(row["total"]), None)


def by_sql(client: tb.Client) -> int:
    (row,) = client.sql(JOINED).dicts()
    return factor_of(int(row["n"]), int(row["total"]), int(row["most"]))


@pytest.mark.parametrize("switches", [6, pytest.param(40, marks=pytest.mark.long)])
def test_no_answer_is_wrong_missing_or_mixed_while_views_are_switched(
    switches: int, feed: Feed, tmp_path: Path
) -> None:
    server = serve(application(feed.store), "127.0.0.1", 0)
    stop, seen, asked = threading.Event(), [set[int]() for _ in range(CLIENTS)], [0] * CLIENTS
    ways: list[tuple[str, Callable[[tb.Client], int]]] = [
        (where, ask) for where in (str(tmp_path), server.url) for ask in (by_query, by_sql)
    ]

    def ask(number: int) -> None:
        where, way = ways[number % len(ways)]
        with tb.connect(where) as client:
            while not stop.is_set():
                seen[number].add(way(client))
                asked[number] += 1

    def commit() -> None:
        while not stop.wait(0.01):
            feed.commit()

    office = Office(feed.store)
    with ThreadPoolExecutor(CLIENTS + 1) as pool:
        asking, committing = [pool.submit(ask, number) for number in range(CLIENTS)], pool.submit(commit)
        try:
            for turn in range(switches):
                # Every client has asked at least once since the switch before.
                before = list(asked)
                while any(now == then for now, then in zip(asked, before, strict=True)):
                    assert not any(each.done() for each in asking)
                    stop.wait(0.001)
                job = {"do": "rollback", "view": "most"} if turn % 2 else {"do": "switch", "views": ["sums", "most"]}
                versions.run(office, job)
        finally:
            stop.set()
            for each in asking:
                each.result()
            committing.result()
            server.stop()
    assert len({switch.id for switch in feed.store.switches()}) == switches
    assert seen == [{1, 2}] * CLIENTS
