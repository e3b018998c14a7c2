"""Measures every figure, or the one named: python -m bench [--events N] [--only NAME] [--repeats 3]."""

from __future__ import annotations

import argparse
import multiprocessing
import signal
import sys
import tempfile
import time
from pathlib import Path

from bench.declared import stream
from bench.figure import Figure
from bench.fill import event, fill
from bench.place import Place, measured
from bench.report import details, report, table
from tarnbeck.log import broker

EVENTS = 4_000_000
RESULTS = Path(__file__).with_name("RESULTS.md")
FIGURES = (
    "lake",
    "batch",
    "tumbling",
    "packed",
    "sliding",
    "uniques",
    "views",
    "reading",
    "moments",
    "switching",
    "page",
    "replay",
    "freshness",
    "get",
    "recompute",
)
"""One module each, in the order in which they are measured: the last three add events to the topic."""


def main() -> None:
    """Fills one topic, measures on it, and writes the results when all were measured in full."""
    asked = _arguments()
    # What runs is stopped in order however the bench is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with tempfile.TemporaryDirectory(prefix="tarnbeck-bench-") as folder:
        started = broker.start(Path(folder, "broker"))
        try:
            figures = _measure(asked, Path(folder), started)
        finally:
            started.stop()
    print(table(figures), details(figures), sep="\n\n")
    if asked.events == EVENTS and asked.only is None:
        RESULTS.write_text(report(figures, EVENTS, asked.repeats))
        print(f"written: {RESULTS.name}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Figures side by side with peers.")
    parser.add_argument("--events", type=int, default=EVENTS, help="events of the backlog")
    parser.add_argument("--only", choices=FIGURES, action="append", help="measure this one only; may be repeated")
    parser.add_argument("--repeats", type=int, default=3, help="rounds, of which the best counts")
    parser.add_argument("--seconds", type=float, default=40, help="how long a steady flow is watched, each round")
    return parser.parse_args()


def _measure(asked: argparse.Namespace, folder: Path, started: broker.Broker) -> list[Figure]:
    topic, began = "bench.events", time.monotonic()
    print(f"filling a topic with {asked.events:,} events", flush=True)

    def told(done: int) -> None:
        if done % 1_000_000 == 0 and done:
            print(f"  {done:,} after {time.monotonic() - began:.0f} s", flush=True)

    end = fill(started.settings, stream(topic), asked.events, event, told)
    print(f"  filled in {time.monotonic() - began:.0f} s", flush=True)
    place = Place(folder, started.settings, topic, asked.events, end, asked.repeats, asked.seconds)
    return [figure for name in FIGURES if name in (asked.only or FIGURES) for figure in _alone(name, place)]


def _alone(name: str, place: Place) -> list[Figure]:
    """Figures in a process of their own: what it started, such as a Java machine, is gone before the next ones."""
    print(name, flush=True)
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe(duplex=False)
    process = context.Process(target=measured, args=(name, place, theirs))
    process.start()
    theirs.close()
    try:
        figures: list[Figure] = mine.recv()
    except EOFError:
        raise SystemExit(f"bench: '{name}' was not measured: see above") from None
    except BaseException:
        process.terminate()
        raise
    finally:
        process.join()
    return figures


if __name__ == "__main__":
    main()
