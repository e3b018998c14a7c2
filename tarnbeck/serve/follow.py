"""Answers that are kept up to date, for Python: updates as they come, and the answer that they add up to."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import suppress
from types import TracebackType
from typing import Self

from tarnbeck.errors import NotReady
from tarnbeck.serve.answer import Answer
from tarnbeck.serve.changes import POLL, History, State, Update, folded, look, states
from tarnbeck.serve.parameters import LiveAsked
from tarnbeck.serve.trigger import Pace
from tarnbeck.store.protocol import Store

Updates = Generator[Update | None, None, None]
"""Updates as they come, None as a sign of life."""


class Live:
    """Updates to an answer, one after the other, with `for` or `async for`; a context manager.

    `answer` is the whole answer as of the last update. An update is made when it is asked for: whoever is slow gets
    fewer of them, never old ones.
    """

    def __init__(self, updates: Updates, top: str | None) -> None:
        self._updates, self._top = updates, top
        self.answer: Answer | None = None

    def beats(self) -> Iterator[Update | None]:
        """Updates, and None at each heartbeat without one."""
        for update in self._updates:
            if update is not None:
                self.answer = folded(self.answer, update, self._top)
            yield update

    def __iter__(self) -> Iterator[Update]:
        return (update for update in self.beats() if update is not None)

    async def __aiter__(self) -> AsyncIterator[Update]:
        import asyncio

        beats = self.beats()
        while True:
            found = await asyncio.to_thread(lambda: next(beats, _END))
            if isinstance(found, _End):
                return
            if found is not None:
                yield found

    def close(self) -> None:
        self._updates.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        self.close()


class _End:
    """What stands for the end of an iterator: StopIteration can't leave a thread."""


_END = _End()


def follow(store: Store, asked: LiveAsked, clock: Callable[[], int], seconds: float | None) -> Updates:
    """The updates of a store on this machine: the first at once, the others when the trigger says so."""
    deadline = None if seconds is None else time.monotonic() + seconds
    beat = time.monotonic() + asked.heartbeat
    history, pace, pause = History(), Pace(asked.trigger), threading.Event()
    told: State | tuple[()] = ()
    known: int | None = None
    while True:
        update = None
        state = states(store).get(asked.view)
        if state != told:
            pace.changed(clock())
        if pace.first is not None and (known is None or pace.left(clock()) == 0):
            told = state
            pace.told()
            with suppress(NotReady):
                history.take(look(store, asked.question(clock())))
                update = history.since(known, only_closed=asked.trigger.only_closed)
                known = history.number
        if update is not None or time.monotonic() >= beat:
            yield update
            beat = time.monotonic() + asked.heartbeat
        left = POLL if deadline is None else min(POLL, deadline - time.monotonic())
        if left <= 0:
            return
        pause.wait(left)
