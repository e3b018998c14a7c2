"""Runs an example: all layers, its generated feed, a live picture, and an audit at the end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

import typer

from tarnbeck.cli import audit, jobs, show
from tarnbeck.cli.picture import picture
from tarnbeck.cli.signals import asked_to_stop, stopped_by_signals
from tarnbeck.cli.up import log
from tarnbeck.cli.watch import Question, series_of, watched
from tarnbeck.errors import NotReady
from tarnbeck.window.duration import MINUTE

if TYPE_CHECKING:
    from tarnbeck.examples.feed import Tick
    from tarnbeck.examples.registry import Example
    from tarnbeck.log.settings import LogSettings
    from tarnbeck.node.node import Node
    from tarnbeck.schema.stream import Stream
    from tarnbeck.serve.answer import Answer
    from tarnbeck.serve.client import Client

PLAIN_EVERY = 5.0
"""Seconds between two lines of progress where there is no terminal."""
COVERED_WITHIN = 300.0
"""Seconds that the layers may take to reach the log's end after the feed has stopped."""
SERVER = "localhost:8787"
"""Where questions say that the HTTP API is."""


@dataclass
class Fed:
    """What the feed has sent so far; one thread counts, others read."""

    sent: int = 0
    broken: int = 0


def play(example: Example, folder: Path, seconds: float | None, rate: float, seed: int) -> None:
    """Runs an example until its time is over or someone asks to stop; a wrong end is exit code 1."""
    from tarnbeck.node.loading import load
    from tarnbeck.node.node import Node
    from tarnbeck.node.settings import Settings

    settings = Settings(folder=folder.absolute(), batch_every=MINUTE, app=example.app)
    with stopped_by_signals(), Node(settings, load(example.app)) as node:
        node.start(log)
        log(f"ready: {node.url}")
        watch = example.watch
        keys = {name: [value] for name, value in watch.keys.items()}
        question = Question(watch.view, keys, watch.last, watch.per, watch.column)
        for line in hints(example, folder, node.url, question):
            show.say(line)
        with asked_to_stop() as stop:
            fed = Fed()
            with _running(node, example, rate, seed, fed) as parts:
                _watch(node, question, parts, fed, seconds, stop)
            feeding, *others = parts
            for other in others:
                other.result()
            right = _ending(node, fed, feeding.result())
        log("stopping")
    log("stopped")
    if not right:
        raise typer.Exit(1)


def hints(example: Example, folder: Path, url: str, question: Question) -> Iterator[str]:
    """Where to look at it, what to ask it, and how."""
    yield f"look at it: {url}{page(question)}"
    yield f"ask it from a second terminal, after: export TARNBECK_FOLDER={folder}"
    for each in example.questions:
        yield f"  {each.replace(SERVER, urlsplit(url).netloc)}"


@contextmanager
def _running(node: Node, example: Example, rate: float, seed: int, fed: Fed) -> Iterator[list[Future[Any]]]:
    """The feed, and what runs beside the example, each in a thread of its own, stopped on the way out."""
    halt = threading.Event()
    with ThreadPoolExecutor(2, thread_name_prefix="play") as pool:
        try:
            parts: list[Future[Any]] = [
                pool.submit(feed, node.log, node.app.streams, example.feed(seed), rate, fed, halt)
            ]
            if example.beside is not None:
                parts.append(pool.submit(_beside, node, example.beside, halt))
            yield parts
        finally:
            halt.set()


def feed(
    log: LogSettings, streams: dict[str, Stream], ticks: Iterable[Tick], rate: float, fed: Fed, halt: threading.Event
) -> int:
    """Sends ticks at a steady rate until told to halt; gives how many events the log has acknowledged."""
    from tarnbeck.log.pack import key_of
    from tarnbeck.log.produce import Sender, producer

    shared = producer(log)
    with ExitStack() as stack:
        own = [stream for stream in streams.values() if stream.derived is None]
        senders = {stream.name: stack.enter_context(Sender(log, stream, shared)) for stream in own}
        due = time.monotonic()
        for tick in ticks:
            due += tick.gap / rate
            if halt.wait(max(0.0, due - time.monotonic())):
                break
            value = tick.value(datetime.now(UTC))
            for _ in range(tick.copies):
                senders[tick.stream].send(value, key_of(streams[tick.stream], value))
            fed.sent += tick.copies
            fed.broken += tick.broken
        return sum(sender.flush().acknowledged for sender in senders.values())


def _beside(node: Node, run: Callable[[Client, threading.Event], None], halt: threading.Event) -> None:
    from tarnbeck.serve.client import connect

    with connect(node.settings.folder) as client:
        run(client, halt)


def _watch(
    node: Node,
    question: Question,
    parts: list[Future[Any]],
    fed: Fed,
    seconds: float | None,
    stop: threading.Event,
) -> None:
    """Shows the view until the time is over, a part has ended, or someone asks to stop."""
    from tarnbeck.serve.client import connect

    with (
        connect(node.settings.folder) as client,
        _screen(node, question, fed) as screen,
        watched(client, question, seconds) as updates,
    ):
        for _ in updates.beats():
            if any(part.done() for part in parts) or stop.is_set():
                return
            screen(updates.answer)


Screen = Callable[["Answer | None"], None]


@contextmanager
def _screen(node: Node, question: Question, fed: Fed) -> Iterator[Screen]:
    """A live picture for a person, a line now and then for a program."""
    if not show.terminal():
        yield _lines(question, fed)
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
                f"{node.url}{page(question)} · Ctrl-C ends with an audit",
            ]
            live.update(picture(series_of(answer, question), *console.size, footer), refresh=True)

        yield draw


def page(question: Question) -> str:
    """Where the live page shows the same.

    >>> page(Question("ohlc", {"currency": ["EUR"]}, per="second"))
    '/#/view/ohlc?key.currency=EUR&per=second'
    """
    options = {"last": question.last, "per": question.per, "column": question.column}
    asked = [(f"key.{name}", value) for name, values in question.keys.items() for value in values]
    asked += [(name, value) for name, value in options.items() if value is not None]
    return f"/#/view/{question.view}" + (f"?{urlencode(asked)}" if asked else "")


def _lines(question: Question, fed: Fed) -> Screen:
    told = 0.0

    def tell(answer: Answer | None) -> None:
        nonlocal told
        if time.monotonic() < told + PLAIN_EVERY:
            return
        told = time.monotonic()
        covered = answer.records if answer else 0
        log(f"{fed.sent:,} sent, answers cover {covered:,}, {newest(answer, question)}")

    return tell


def newest(answer: Answer | None, question: Question) -> str:
    """The newest window in a few words."""
    if answer is None or not answer.rows:
        return f"{question.view} has no rows yet"
    series = series_of(answer, question)
    if series.drawn is None:
        return f"{question.view} has {len(answer.rows):,} rows"
    row = answer.rows[-1]
    who = " ".join(show.printable(show.pretty(key)) for key in row[: series.keys]) or question.view
    return f"{who} at {show.pretty(row[series.drawn])}"


def _ending(node: Node, fed: Fed, acknowledged: int) -> bool:
    """Waits until all is covered, audits, counts; whether everything is right."""
    from tarnbeck.plan.destination import ToStream

    log(f"feed stopped: {fed.sent:,} sent, {acknowledged:,} acknowledged")
    # Alerts may be told at any moment, also now: their streams have no end to count up to.
    told = {each.stream for rule in node.app.alerts.values() for each in rule.to if isinstance(each, ToStream)}
    streams = [stream for stream in node.app.streams.values() if stream.name not in told]
    held = _covered(node, [stream for stream in streams if stream.derived is None])
    derived = _covered(node, [stream for stream in streams if stream.derived is not None])
    log("everything is covered; auditing")
    audited = jobs.ask(node, {"do": "audit", "views": []})
    audit.report(audited)
    tables = jobs.ask(node, {"do": "lake"})["tables"]
    rows = {(each["stream"], each["table"]): each["rows"] for each in tables}
    counts = {kind: sum(rows[name, kind] for name in held) for kind in ("events", "quarantine")}
    for line in summary(fed, acknowledged, sum(held.values()), counts):
        show.say(line)
    for name, count in derived.items():
        show.say(f"{name}: {count:,} events derived, {rows[name, 'events']:,} of them in the lake")
    adds_up = all(n == rows[name, "events"] + rows[name, "quarantine"] for name, n in held.items())
    # More may have been derived since its end was looked up, never less.
    reached = all(n <= rows[name, "events"] + rows[name, "quarantine"] for name, n in derived.items())
    return audit.equal(audited) and adds_up and reached and acknowledged == fed.sent


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


def _covered(node: Node, streams: Iterable[Stream]) -> dict[str, int]:
    """Waits until the lake and every view of these streams have reached the log's end; gives the events below it."""
    from tarnbeck.log import topics
    from tarnbeck.log.follow import follow

    ends = {stream.name: (stream.topic, topics.end(node.log, stream.topic)) for stream in streams}
    deadline = time.monotonic() + COVERED_WITHIN
    pause = threading.Event()
    while True:
        states, versions = node.store.streams(), node.store.versions()
        answering = [versions[alias] for alias in node.store.aliases().values()]
        cuts = [(f"view '{each.view}'", each.stream, each.cut) for each in answering]
        cuts += [(f"the lake of '{name}'", name, states[name].lake_cut) for name in ends]
        behind = [who for who, name, cut in cuts if name in ends and not cut.covers(ends[name][1])]
        if not behind:
            break
        if time.monotonic() > deadline:
            raise NotReady(
                f"{node.app.name}: {', '.join(behind)} did not reach the log's end in {COVERED_WITHIN:.0f} s\n"
                f"  see {node.settings.folder / 'logs'}"
            )
        pause.wait(0.1)
    return {
        name: sum(len(record.events()) for record in follow(node.log, topic, states[name].origin, until=end))
        for name, (topic, end) in ends.items()
    }
