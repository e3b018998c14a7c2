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
            if (self._front[-1] if self._front else self._back[0])[0] >= at:
                return
            if not self._front:
                self._turn()
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


def slide(
    panes: Panes, merge: Merge, *, length: int, every: int, origin: int, since: int | None, until: int | None
) -> Iterator[Assembled]:
    """Every window that holds at least one pane, by its start; windows start at multiples of `every` from `origin`.

    Only windows that overlap [since, until) are put together.
    """
    starts = sorted(panes)
    queue, taken = _Queue(merge), 0
    for start in _starts(starts, length, every, origin, since):
        if until is not None and start >= until:
            return
        queue.drop_before(start)
        while taken < len(starts) and starts[taken] < start + length:
            if starts[taken] >= start:
                queue.push(starts[taken], panes[starts[taken]])
            taken += 1
        found = queue.merged
        assert found is not None  # noqa: S101 (each of these windows holds a pane)
        yield Assembled(start, start + length, found)


def _starts(panes: list[int], length: int, every: int, origin: int, since: int | None) -> Iterator[int]:
    """Where windows that hold one of these panes, and end after `since`, start."""
    start = None if since is None else _ceil(since - length + 1, every, origin)
    for pane in panes:
        # The first window that reaches as far as this pane.
        first = _ceil(pane - length + 1, every, origin)
        start = first if start is None else max(start, first)
        while start <= pane:
            yield start
            start += every


def _ceil(moment: int, every: int, origin: int) -> int:
    return moment + (origin - moment) % every


def sessions(panes: Panes, merge: Merge, *, gap: int, since: int | None, until: int | None) -> Iterator[Assembled]:
    """The sessions that overlap [since, until)."""
    for each in _sessions(panes, merge, gap):
        if (since is None or each.end > since) and (until is None or each.start < until):
            yield each


def _sessions(panes: Panes, merge: Merge, gap: int) -> Iterator[Assembled]:
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
