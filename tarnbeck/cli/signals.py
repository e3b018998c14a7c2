"""Ends a command in order: the first Ctrl-C or SIGTERM asks, the second insists."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def asked_to_stop() -> Iterator[threading.Event]:
    """An event that is set by the first signal; the next one raises KeyboardInterrupt."""
    stop = threading.Event()

    def ask(_: int, __: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, ask) for number in SIGNALS}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def terminated_like_interrupted() -> Iterator[None]:
    """SIGTERM ends what is going on as Ctrl-C does, so that whatever was started is stopped again."""

    def interrupt(_: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
