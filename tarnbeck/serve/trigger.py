"""When a subscriber is told: each trigger says when the first change that was not told yet must be told."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from tarnbeck.errors import UsageError
from tarnbeck.window import duration
from tarnbeck.window.window import Tumbling


@dataclass(frozen=True)
class Trigger(ABC):
    """When to tell, in UTC microseconds; `only_closed` windows, or those that are still open too."""

    only_closed: ClassVar[bool] = False

    @abstractmethod
    def due(self, first: int) -> int:
        """The moment to tell all changes, the first of which was seen at `first`."""


@dataclass(frozen=True)
class OnChange(Trigger):
    """At once; while a subscriber is busy, changes are gathered."""

    def due(self, first: int) -> int:
        return first

    def __str__(self) -> str:
        return "change"


@dataclass(frozen=True)
class Every(Trigger):
    """At moments of the clock that are so far apart: every 10 seconds is at :00, :10, :20."""

    length: int

    def due(self, first: int) -> int:
        return Tumbling(self.length).panes[0].start_of(first + self.length - 1)

    def __str__(self) -> str:
        return duration.text(self.length)


@dataclass(frozen=True)
class After(Trigger):
    """So long after the first change."""

    length: int

    def due(self, first: int) -> int:
        return first + self.length

    def __str__(self) -> str:
        return f"after {duration.text(self.length)}"


@dataclass(frozen=True)
class OnClose(Trigger):
    """When a window closes, and when a closed one changes."""

    only_closed: ClassVar[bool] = True

    def due(self, first: int) -> int:
        return first

    def __str__(self) -> str:
        return "close"


_NAMED: dict[str, Trigger] = {str(trigger): trigger for trigger in (OnChange(), OnClose())}
_TIMED: dict[str, Callable[[int], Trigger]] = {"after": After, "every": Every}


def read(text: str) -> Trigger:
    """The trigger that a text names.

    >>> read("change"), read("10s"), read("after 5 seconds"), read("close")
    (OnChange(), Every(length=10000000), After(length=5000000), OnClose())
    """
    words = " ".join(text.lower().split())
    if words in _NAMED:
        return _NAMED[words]
    kind, _, length = words.partition(" ")
    try:
        return _TIMED[kind](duration.duration(length)) if kind in _TIMED else Every(duration.duration(words))
    except UsageError:
        raise UsageError(
            f"live: bad trigger {text!r}\n  expected 'change', 'close', a length such as '10s', or 'after 5s'"
        ) from None


@dataclass
class Pace:
    """How long one subscriber waits: `first` is when the first change was seen that it was not told."""

    trigger: Trigger
    first: int | None = None

    def changed(self, moment: int) -> None:
        if self.first is None:
            self.first = moment

    def left(self, now: int) -> int | None:
        """Microseconds until there is something to tell; None when nothing changed."""
        return None if self.first is None else max(0, self.trigger.due(self.first) - now)

    def told(self) -> None:
        self.first = None
