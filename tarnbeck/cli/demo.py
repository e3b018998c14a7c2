"""`tarnbeck demo`: the Bitcoin example with a generated feed, watched live, and audited at the end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tarnbeck.cli import audit, jobs, show
from tarnbeck.cli.feed import ticks
from tarnbeck.cli.options import FOLDER, Folder, Seconds
from tarnbeck.cli.picture import picture
from tarnbeck.cli.signals import asked_to_stop, stopped_by_signals
from tarnbeck.cli.up import log
from tarnbeck.cli.watch import Question, series_of, watched
from tarnbeck.errors import NotReady
from tarnbeck.window.duration import MINUTE

if TYPE_CHECKING:
    from tarnbeck.log.produce import Sent
    from tarnbeck.log.settings import LogSettings
    from tarnbeck.node.node import Node
    from tarnbeck.schema.stream import Stream
    from tarnbeck.serve.answer import Answer

STREAM = "prices"
WATCHED = Question("ohlc", {"currency": "EUR"}, per="second", column="close")
PLAIN_EVERY = 5.0
"""Seconds between two lines of progress where there is no terminal."""
COVERED_WITHIN = 300.0
"""Seconds that the layers may take to reach the log's end after the feed has stopped."""
EXAMPLE = Path(__file__).with_name("bitcoin.py").resolve()


@dataclass
class Fed:
    """What the feed has sent so far; one thread counts, others read."""

    sent: int = 0
    broken: int = 0


def demo(
    seconds: Seconds = None,
    rate: Annotated[float, typer.Option("--rate", min=0.1, max=100_000, help="Events per second.")] = 200,
    seed: Annotated[int, typer.Option("--seed", help="Another seed gives another feed.")] = 1,
    folder: Folder = FOLDER,
) -> None:
    """Run the Bitcoin example with a generated feed.

    All layers are on, and a batch runs every minute. At the end an audit shows that nothing is missing.
    """
    from tarnbeck.node.loading import load
    from tarnbeck.node.node import Node
    from tarnbeck.node.settings import Settings

    settings = Settings(folder=folder.absolute(), batch_every=MINUTE)
    with stopped_by_signals(), Node(settings, load(EXAMPLE)) as node:
        node.start(log)
        with asked_to_stop() as stop:
            fed = Fed()
            with _feeding(node, rate, seed, fed) as feeding:
                _watch(node, feeding, fed, seconds, stop)
            right = _ending(node, fed, feeding.result())
        log("stopping")
    log("stopped")
    if not right:
        raise typer.Exit(1)


@contextmanager
def _feeding(node: Node, rate: float, seed: int, fed: Fed) -> Iterator[Future[Sent]]:
    """The feed in a thread of its own, stopped on the way out."""
    halt = threading.Event()
    with ThreadPoolExecutor(1, thread_name_prefix="feed") as pool:
        try:
            yield pool.submit(feed, node.log, node.app.streams[STREAM], rate, seed, fed, halt)
        finally:
            halt.set()


def feed(log: LogSettings, stream: Stream, rate: float, seed: int, fed: Fed, halt: threading.Event) -> Sent:
    """Sends ticks at a steady rate until told to halt; gives what became of them."""
    from tarnbeck.log.pack import key_of
    from tarnbeck.log.produce import Sender

    with Sender(log, stream) as sender:
        due = time.monotonic()
        for tick in ticks(seed):
            due += tick.gap / rate
            if halt.wait(max(0.0, due - time.monotonic())):
                break
            value = tick.value(datetime.now(UTC))
            for _ in range(tick.copies):
                sender.send(value, key_of(stream, value))
            fed.sent += tick.copies
            fed.broken += tick.broken
        return sender.flush()


def _watch(node: Node, feeding: Future[Sent], fed: Fed, seconds: float | None, stop: threading.Event) -> None:
    """Shows the view until the time is over, the feed has failed, or someone asks to stop."""
    from tarnbeck.serve.client import connect

    with (
        connect(node.settings.folder) as client,
        _screen(node, fed) as screen,
        watched(client, WATCHED, seconds) as updates,
    ):
        for _ in updates.beats():
            if feeding.done() or stop.is_set():
                return
            screen(updates.answer)


Screen = Callable[["Answer | None"], None]


@contextmanager
def _screen(node: Node, fed: Fed) -> Iterator[Screen]:
    """A live picture for a person, a line now and then for a program."""
    if not show.terminal():
        yield _lines(fed)
        return
    from rich.live import Live
    from rich.text import Text

    console = show.console()
    with Live(console=console, auto_refresh=False) as live:

        def draw(answer: Answer | None) -> None:
            if answer is None:
                live.update(Text("waiting for the first events", style="dim"), refresh=True)
                return
            footer = [
                f"{show.covers(answer.origin, answer.cut)} · {fed.sent:,} sent",
                f"{node.url}/views/ohlc?currency=EUR&last=1h&per=minute · Ctrl-C ends with an audit",
            ]
            live.update(picture(series_of(answer, WATCHED), *console.size, footer), refresh=True)

        yield draw


def _lines(fed: Fed) -> Screen:
    told = 0.0

    def tell(answer: Answer | None) -> None:
        nonlocal told
        if time.monotonic() < told + PLAIN_EVERY:
            return
        told = time.monotonic()
        closed = answer.rows[-1][answer.names.index("close")] if answer and answer.rows else None
        covered = answer.records if answer else 0
        log(f"{fed.sent:,} sent, answers cover {covered:,}, EUR at {show.pretty(closed)}")

    return tell


def _ending(node: Node, fed: Fed, sent: Sent) -> bool:
    """Waits until all is covered, audits, counts; whether everything is right."""
    log(f"feed stopped: {fed.sent:,} sent, {sent.acknowledged:,} acknowledged")
    held = _covered(node)
    log("everything is covered; auditing")
    audited = jobs.ask(node, {"do": "audit", "views": []})
    audit.report(audited)
    tables = jobs.ask(node, {"do": "lake"})["tables"]
    counts = {kind: sum(each["rows"] for each in tables if each["table"] == kind) for kind in ("events", "quarantine")}
    for line in summary(fed, sent.acknowledged, held, counts):
        show.say(line)
    adds_up = held == counts["events"] + counts["quarantine"]
    return audit.equal(audited) and adds_up and sent.acknowledged == fed.sent


def summary(fed: Fed, acknowledged: int, held: int, counts: dict[str, int]) -> list[str]:
    """What became of every event."""
    lake, quarantine = counts["events"], counts["quarantine"]
    total = lake + quarantine
    others = f"  ({held - acknowledged:,} of them sent before, or by others)" if held > acknowledged else ""
    verdict = "nothing lost, nothing twice" if total == held else f"BUT THE LOG HOLDS {held:,}"
    return [
        f"sent         {fed.sent:>12,}  ({fed.broken:,} of them broken on purpose)",
        f"acknowledged {acknowledged:>12,}",
        f"in the log   {held:>12,}{others}",
        f"in the lake  {lake:>12,}",
        f"quarantined  {quarantine:>12,}  (tarnbeck quarantine list)",
        f"lake + quarantine = {total:,}: {verdict}",
    ]


def _covered(node: Node) -> int:
    """Waits until every view and the lake have reached the log's end; gives the events below it."""
    from tarnbeck.log import topics
    from tarnbeck.log.follow import follow

    stream = node.app.streams[STREAM]
    end = topics.end(node.log, stream.topic)
    deadline = time.monotonic() + COVERED_WITHIN
    pause = threading.Event()
    while True:
        state = node.store.streams()[STREAM]
        versions = node.store.versions()
        cuts = {f"view '{view}'": versions[alias].cut for view, alias in node.store.aliases().items()}
        behind = [who for who, cut in (cuts | {"the lake": state.lake_cut}).items() if not cut.covers(end)]
        if not behind:
            return sum(len(record.events()) for record in follow(node.log, stream.topic, state.origin, until=end))
        if time.monotonic() > deadline:
            raise NotReady(
                f"demo: {', '.join(behind)} did not reach the log's end ({end}) in {COVERED_WITHIN:.0f} s\n"
                f"  see {node.settings.folder / 'logs'}"
            )
        pause.wait(0.1)
