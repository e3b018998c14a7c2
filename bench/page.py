"""Figures of the page: the first chart in a browser, 100,000 points, and what 200 live subscribers cost the server."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import shutil
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pyarrow as pa
from playwright.sync_api import Page, sync_playwright

import tarnbeck as tb
from bench import stored
from bench.figure import Figure, Target, percentile
from bench.place import Place
from tarnbeck.plan.view import View
from tarnbeck.schema.decode import events_schema
from tarnbeck.serve.clock import now
from tarnbeck.serve.http import application, serve
from tarnbeck.store.sqlite import SQLiteStore

FIRST, SUBSCRIBERS = Target(1.0, least=False), Target(200.0, least=False)
POINTS, SHOWN = 100_000, 900
OPENED, REDRAWN = 7, 60
MANY, SECONDS, BEAT = 200, 15.0, 0.1
SECOND = 1_000_000


def figures(place: Place) -> Iterator[Figure]:
    with place.fresh("page") as folder:
        view, store = _filled(folder)
        with _served(folder) as (url, pid):
            yield _first(url)
            yield _subscribers(store, view, url, pid)
        store.close()


def _filled(folder: Path) -> tuple[View, SQLiteStore]:
    app = tb.App("bench")
    ticks = app.stream("ticks", "time timestamp, item string, price double", time="time", key="item")
    select = {"first": tb.first("price"), "max": tb.max("price"), "min": tb.min("price"), "last": tb.last("price")}
    view = app.view("prices", ticks, by="item", window=tb.tumbling("1 second"), select=select)
    store = SQLiteStore(folder, now)
    stored.register(store, app)
    stored.commit(store, view, _ticks(view, now() - POINTS * SECOND, POINTS))
    return view, store


def _ticks(view: View, start: int, count: int) -> pa.Table:
    """A tick for each second; a walk by chance that is the same each time."""
    times = pa.array(start + np.arange(count) * SECOND).cast(pa.timestamp("us", "UTC"))
    walk = 1000 + np.random.default_rng(1).normal(0, 1, count).cumsum()
    known = {
        "_partition": pa.array(np.zeros(count, dtype=np.int32)),
        "_offset": pa.array(np.arange(count)),
        "_index": pa.array(np.zeros(count, dtype=np.int32)),
        "_received": times,
        "_time": times,
        "time": times,
        "item": pa.array(np.full(count, "apple")),
        "price": pa.array(walk),
    }
    schema = events_schema(view.stream)
    return pa.table(
        [
            known[field.name].cast(field.type) if field.name in known else pa.nulls(count, field.type)
            for field in schema
        ],
        schema=schema,
    )


@contextlib.contextmanager
def _served(folder: Path) -> Iterator[tuple[str, int]]:
    """The server in a process of its own, so that what it takes can be told apart."""
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(folder, theirs))
    process.start()
    try:
        yield mine.recv(), process.pid or 0
    finally:
        mine.send(None)
        process.join(30)


def _serve(folder: Path, told: Connection) -> None:
    store = SQLiteStore(folder, now)
    server = serve(application(store), "127.0.0.1", 0)
    told.send(server.url)
    told.recv()
    server.stop()
    store.close()


def _first(url: str) -> Figure:
    """From the address to the chart on the screen; without a cache, as at the first visit."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        taken = []
        for _ in range(OPENED):
            page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
            began = time.perf_counter()
            page.goto(f"{url}/#/view/prices?last=15m&chart=candle")
            page.wait_for_selector('.chart canvas[aria-label^="candle chart"]')
            taken.append((time.perf_counter() - began) * 1000)
            page.context.close()
        whole = browser.new_page(viewport={"width": 1280, "height": 800})
        began = time.perf_counter()
        whole.goto(f"{url}/#/view/prices?last=30d&chart=line&column=last&limit=200000")
        whole.wait_for_selector(f'.chart canvas[aria-label*="{POINTS} windows"]')
        all_shown = time.perf_counter() - began
        frames = _frames(whole)
        browser.close()
    return Figure(
        "chart",
        f"from the address to a chart of {SHOWN} candles in Chromium, against the second that is wanted",
        f"{percentile(taken, 50):.0f} ms (slowest {max(taken):.0f})",
        "1,000 ms",
        percentile(taken, 50) / 1000,
        FIRST,
        notes=(
            f"{POINTS:,} points, asked for and drawn: {all_shown:.2f} s",
            f"one of them drawn anew while the pointer moves: {percentile(frames, 50):.1f} ms between frames "
            f"(p99 {percentile(frames, 99):.1f})",
        ),
    )


def _frames(page: Page) -> list[float]:
    """Milliseconds between frames while all points are drawn again for each of them."""
    found: list[float] = page.evaluate(
        """(count) => new Promise((done) => {
            const chart = document.querySelector(".chart"), found = [];
            let last = null;
            const step = (at) => {
                if (last !== null) found.push(at - last);
                last = at;
                if (found.length === count) return done(found);
                chart.style.height = `${400 + (found.length % 2)}px`;
                requestAnimationFrame(step);
            };
            requestAnimationFrame(step);
        })""",
        REDRAWN,
    )
    return found


def _subscribers(store: SQLiteStore, view: View, url: str, pid: int) -> Figure:
    one, _, _ = _followed(store, view, url, pid, 1)
    many, updates, changes = _followed(store, view, url, pid, MANY)
    return Figure(
        "subscribers",
        f"the server's share of a core with {MANY} live subscribers of one view, against one",
        f"{many:.0%}",
        f"{one:.0%}",
        many / one,
        SUBSCRIBERS,
        notes=(
            f"{changes / SECONDS:.1f} commits a second, {updates / MANY / SECONDS:.1f} updates a second for each: "
            "a commit that changes nothing of the answer is told to nobody",
            f"the server's memory afterwards: {_memory(pid):,.0f} MB",
        ),
    )


def _followed(store: SQLiteStore, view: View, url: str, pid: int, count: int) -> tuple[float, int, int]:
    """The share of a core that the server takes, and how many updates all subscribers got of how many commits."""
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe()
    process = context.Process(target=_listen, args=(url, count, theirs))
    process.start()
    mine.recv()
    began, used, commits = time.perf_counter(), _used(pid), 0
    while (passed := time.perf_counter() - began) < SECONDS:
        stored.commit(store, view, _ticks(view, now(), 1))
        commits += 1
        time.sleep(max(0.0, BEAT - (time.perf_counter() - began - passed)))
    share = (_used(pid) - used) / (time.perf_counter() - began)
    mine.send(None)
    updates = int(mine.recv())
    process.join(30)
    return share, updates, commits


def _listen(url: str, count: int, told: Connection) -> None:
    asyncio.run(_listening(url, count, told))


async def _listening(url: str, count: int, told: Connection) -> None:
    host, _, port = url.removeprefix("http://").partition(":")
    got = 0

    async def follow(ready: asyncio.Semaphore) -> None:
        nonlocal got
        reader, writer = await asyncio.open_connection(host, int(port), limit=1 << 24)
        writer.write(f"GET /views/prices/live?last=1m HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        first = True
        while line := await reader.readline():
            if line.startswith(b"data: "):
                got += not first
                if first:
                    ready.release()
                first = False

    ready = asyncio.Semaphore(0)
    followers = [asyncio.create_task(follow(ready)) for _ in range(count)]
    for _ in followers:
        await ready.acquire()
    told.send(None)
    await asyncio.to_thread(told.recv)
    told.send(got)
    for each in followers:
        each.cancel()


def _used(pid: int) -> float:
    """Seconds of a core that a process has taken."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _memory(pid: int) -> float:
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024
