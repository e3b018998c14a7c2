"""Windows put together from the panes of one key when they are read: sliding ones and sessions."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

States = tuple[Any, ...]
Merge = Callable[[States, States], States]
Panes = Mapping[int, States]
"""The states of one key, by the start of their pane."""


@dataclass(frozen=True)
class Assembled:
    """One window in UTC microseconds and what it holds."""

    start: int
    end: int
    states: States


class _Queue:
    """The merge of everything in a queue, by two stacks: each state is merged about twice, however long the queue."""

    def __init__(self, merge: Merge) -> None:
        self._merge = merge
        self._front: list[tuple[int, States]] = []
        self._back: deque[tuple[int, States]] = deque()
        self._sum: States | None = None

    def push(self, at: int, states: States) -> None:
        self._back.append((at, states))
        self._sum = states if self._sum is None else self._merge(self._sum, states)

    def drop_before(self, at: int) -> None:
        while self._front or self._back:
            if not self._front:
                self._turn()
            if self._front[-1][0] >= at:
                return
            self._front.pop()

    def _turn(self) -> None:
        """Moves the back to the front, where each entry holds the merge of itself and all that came after it."""
        whole: States | None = None
        while self._back:
            at, states = self._back.pop()
            whole = states if whole is None else self._merge(states, whole)
            self._front.append((at, whole))
        self._sum = None

    @property
    def merged(self) -> States | None:
        if not self._front:
            return self._sum
        front = self._front[-1][1]
        return front if self._sum is None else self._merge(front, self._sum)


def slide(panes: Panes, merge: Merge, *, length: int, every: int, origin: int) -> Iterator[Assembled]:
    """Every window that holds at least one pane, by its start; windows start at multiples of `every` from `origin`."""
    starts = sorted(panes)
    queue, taken = _Queue(merge), 0
    start: int | None = None
    while True:
        if start is not None:
            queue.drop_before(start)
        merged = None if start is None else queue.merged
        upcoming = starts[taken] if taken < len(starts) else None
        if merged is None:
            if upcoming is None:
                return
            # The first window that reaches as far as this pane.
            start = _ceil(upcoming - length + 1, every, origin)
            queue.drop_before(start)
        while taken < len(starts) and starts[taken] < start + length:  # type: ignore[operator]
            queue.push(starts[taken], panes[starts[taken]])
            taken += 1
        assert start is not None  # noqa: S101 (set above)
        found = queue.merged
        if found is not None:
            yield Assembled(start, start + length, found)
        start += every


def _ceil(moment: int, every: int, origin: int) -> int:
    return moment + (origin - moment) % every


def sessions(panes: Panes, merge: Merge, *, gap: int) -> Iterator[Assembled]:
    """Panes as long as the gap, whose first two states are their earliest and latest event, put together to sessions.

    Events of one pane are always of one session, and those of panes that are not neighbours never are; between
    neighbours the distance of the events decides. So an event that comes late joins what it belongs to by itself.
    """
    current: States | None = None
    for start in sorted(panes):
        states = panes[start]
        if current is not None and states[0] - current[1] <= gap:
            current = merge(current, states)
            continue
        if current is not None:
            yield Assembled(current[0], current[1] + gap, current)
        current = states
    if current is not None:
        yield Assembled(current[0], current[1] + gap, current)
