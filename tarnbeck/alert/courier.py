"""Brings what waits for one destination there, the oldest first, until it has arrived or there is no hope."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

import orjson

from tarnbeck.alert.notice import Content
from tarnbeck.alert.outcome import Refused
from tarnbeck.errors import TarnbeckError
from tarnbeck.store.protocol import AlertBook
from tarnbeck.store.state import Notice
from tarnbeck.window.duration import DAY

AT_ONCE = 100
"""Notices that are read from the store at a time."""
LONGEST_PAUSE = 300.0
GIVES_UP_AFTER = DAY
STUMBLES = 5.0
"""Seconds of rest after something went wrong that has nothing to do with the destination."""

Send = Callable[[Content], None]


class Courier:
    """One destination and its queue, which is in the store: whatever was not told goes on after a restart."""

    def __init__(
        self,
        book: AlertBook,
        destination: str,
        send: Send,
        clock: Callable[[], int],
        told: Callable[[str], None],
        first_pause: float = 1.0,
    ) -> None:
        self._book, self._destination, self._send = book, destination, send
        self._clock, self._told, self._first_pause = clock, told, first_pause
        self._more = threading.Event()

    def wake(self) -> None:
        """There may be something new, or it is time to stop."""
        self._more.set()

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            try:
                self._more.clear()
                waiting = self._book.waiting(self._destination, AT_ONCE)
                for notice in waiting:
                    self._deliver(notice, stop)
                if not waiting and not stop.is_set():
                    self._more.wait()
            except Exception as error:
                # Whatever went wrong, a thread that ended without a word would leave all that waits behind.
                self._told(f"alerts: {self._destination}: {type(error).__name__}: {error}")
                stop.wait(STUMBLES)

    def _deliver(self, notice: Notice, stop: threading.Event) -> None:
        tries = next(each.tries for each in notice.deliveries if each.destination == self._destination)
        content = orjson.loads(notice.body)
        while not stop.is_set():
            error, over = tried(self._send, content)
            over = over or self._clock() - notice.at > GIVES_UP_AFTER
            self._book.tried(notice.id, self._destination, error, over=over)
            if error is None:
                return
            if tries == 0 or over:
                how = "it is given up" if over else "it is tried again"
                self._told(f"alerts: {self._destination}: a notice did not arrive, {how}: {error.splitlines()[0]}")
            if over:
                return
            # Many nodes that lost one receiver must not all come back at the same moment.
            stop.wait(min(self._first_pause * 2**tries, LONGEST_PAUSE) * random.uniform(0.75, 1))
            tries = min(tries + 1, 30)


def tried(send: Send, content: Content) -> tuple[str | None, bool]:
    """Why a notice did not arrive, if it did not, and whether that would be the same again."""
    try:
        send(content)
    except TarnbeckError as error:
        return str(error), isinstance(error, Refused)
    except Exception as error:
        return f"{type(error).__name__}: {error}", False
    return None, False
