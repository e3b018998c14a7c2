"""A clock that only moves when told."""

from __future__ import annotations

from dataclasses import dataclass

from tarnbeck.window.duration import duration


@dataclass
class ManualClock:
    """UTC microseconds that a test turns by hand.

    >>> clock = ManualClock()
    >>> clock.turn("1 minute")
    >>> clock()
    60000000
    """

    moment: int = 0

    def __call__(self) -> int:
        return self.moment

    def turn(self, by: str) -> None:
        self.moment += duration(by)
