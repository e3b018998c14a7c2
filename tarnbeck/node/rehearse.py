"""A rehearsal: a small application goes through every layer, so that Java archives the classes that a node loads."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import get_args

from tarnbeck.algebra.aggregate import Count, Max, Sum
from tarnbeck.app import App, arrival
from tarnbeck.batch import layer as batch
from tarnbeck.batch.layer import Source
from tarnbeck.errors import TarnbeckError
from tarnbeck.lake import layer as lake
from tarnbeck.log import broker, topics
from tarnbeck.log.produce import Sender
from tarnbeck.node.register import register
from tarnbeck.serve.clock import now
from tarnbeck.spark import archive
from tarnbeck.spark.jars import Conf
from tarnbeck.spark.session import session
from tarnbeck.speed import layer as speed
from tarnbeck.store.sqlite import SQLiteStore
from tarnbeck.window.window import rollup

LONGEST = 600.0
"""Seconds that a rehearsal may take; it takes one minute."""
EVENTS = 6_000
"""More than the speed layer would compute by itself, so that it goes through Spark's workers."""


def make() -> None:
    """Writes the archives of this environment; those of another Java or Spark are removed."""
    wanted = [archive.place(conf) for conf in get_args(Conf)]
    if all(path.is_file() for path in wanted):
        return
    kept = wanted[0].parent
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="rehearsal-", dir=kept) as folder:
        written = [Path(folder, path.name) for path in wanted]
        # Java writes an archive when it ends, after the Python that started it: its pipes tell when it has.
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "tarnbeck.node.rehearse", folder, *map(str, written)],
            capture_output=True, text=True, timeout=LONGEST, check=False,
        )  # fmt: skip
        if done.returncode or not all(path.is_file() for path in written):
            raise TarnbeckError(f"set-up: Java wrote no archive of its classes\n  {_last(done.stdout + done.stderr)}")
        for former in kept.glob("classes-*.jsa"):
            former.unlink()
        for path in written:
            path.rename(kept / path.name)


def _last(text: str) -> str:
    return (text.strip().splitlines() or ["it said nothing"])[-1]


def perform(folder: Path, spark_classes: Path, broker_classes: Path) -> None:
    """Sends some events, lets the speed layer and the lake take them, and runs a batch over them."""
    app = App("rehearsal")
    stream = app.stream("events", "n bigint, price decimal(18,2)", time=arrival())
    select = {"events": Count(), "total": Sum("price"), "most": Max("n")}
    view = app.view("sums", stream, by="n", window=rollup("minute", "hour"), select=select)
    kafka = broker.start(folder, archive.writing(broker_classes))
    try:
        spark = session("rehearsal", folder=folder, java=archive.writing(spark_classes))
        store = SQLiteStore(folder / "store", now)
        register(app, store, kafka.settings)
        with Sender(kafka.settings, stream) as sender:
            for n in range(EVENTS):
                sender.send_event({"n": n % 100, "price": Decimal("1.50")})
            sender.send(b"not an event")
        end, root = topics.end(kafka.settings, stream.topic), str(folder / "lake")

        def feed(stop: threading.Event, failed: Callable[[BaseException], None]) -> None:
            speed.run(spark, kafka.settings, store, folder, stop, told=_ignore, failed=failed)

        def mirror(stop: threading.Event, failed: Callable[[BaseException], None]) -> None:
            lake.run(spark, kafka.settings, store, root, folder, stop, told=_ignore, failed=failed, trigger="0 seconds")

        _until(feed, lambda: all(version.cut.covers(end) for version in store.versions().values()))
        _until(mirror, lambda: store.lake_cut(stream.name).covers(end))
        version = store.aliases()[view.name]
        source = Source(spark, kafka.settings, store, root)
        batch.run(source, version, full=True, step=_ignore, stop=threading.Event())
        spark.stop()
    finally:
        kafka.stop()


def _until(
    part: Callable[[threading.Event, Callable[[BaseException], None]], None], reached: Callable[[], bool]
) -> None:
    """Runs a layer until it has got so far, or has failed."""
    stop, failures = threading.Event(), list[BaseException]()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(part, stop, failures.append)
        while not reached() and not failures and not running.done():
            stop.wait(0.1)
        stop.set()
        running.result()
    if failures:
        raise failures[0]


def _ignore(_: object) -> None:
    pass


def main(given: list[str]) -> int:
    """`python -m tarnbeck.node.rehearse`, which the Makefile calls: without an archive every start takes longer."""
    if given:
        perform(*map(Path, given))
        return 0
    sys.stderr.write("tarnbeck: preparing Java's classes, once: starts are quicker afterwards\n")
    try:
        make()
    except (TarnbeckError, OSError, subprocess.TimeoutExpired) as error:
        sys.stderr.write(f"tarnbeck: {error}\n  all works without it; starts take some seconds longer\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
