"""Ends a command in order: the first Ctrl-C or SIGTERM asks, the second insists."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def asked_to_stop(after: float | None = None) -> Iterator[threading.Event]:
    """An event that is set by the first signal, or after so many seconds; the next signal raises KeyboardInterrupt."""
    stop = threading.Event()
    timer = None if after is None else threading.Timer(after, stop.set)

    def ask(_: int, __: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    with _handling(ask):
        if timer is not None:
            timer.start()
        try:
            yield stop
        finally:
            if timer is not None:
                timer.cancel()


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Ctrl-C and SIGTERM end what is going on, and say so at once: stopping what was started may take a while."""

    def interrupt(_: int, __: FrameType | None) -> None:
        # Not through sys.stderr: the signal may have come in the middle of a write to it.
        os.write(2, b"tarnbeck: interrupted, stopping\n")
        raise KeyboardInterrupt

    with _handling(interrupt):
        yield


@contextmanager
def _handling(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in SIGNALS}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)
