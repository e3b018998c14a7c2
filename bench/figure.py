"""One measured figure, and how it is measured: both sides in turn, the best of several rounds, as a ratio."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev

import numpy as np

Timed = Callable[[], float]
"""Does the work once and gives the seconds it took."""
Tell = Callable[[str], None]
Best = dict[str, float]
"""Seconds by the name of a side."""
OURS = "tarnbeck"


@dataclass(frozen=True)
class Target:
    """What the ratio of ours to the peer's must be."""

    limit: float
    least: bool

    def met(self, ratio: float) -> bool:
        return ratio >= self.limit if self.least else ratio <= self.limit

    def __str__(self) -> str:
        return f"{'at least' if self.least else 'at most'} {self.limit:g}x"


@dataclass(frozen=True)
class Figure:
    """What was measured, ready to be told; `profile` says where the time goes."""

    name: str
    what: str
    ours: str
    peer: str
    ratio: float
    target: Target
    notes: tuple[str, ...] = ()
    profile: tuple[str, ...] = ()

    @property
    def met(self) -> bool:
        return self.target.met(self.ratio)


def race(repeats: int, sides: Mapping[str, Timed], told: Tell, rounds: Mapping[str, int] | None = None) -> Best:
    """The best seconds of each side: a round to warm up, then `repeats` rounds in which they take turns to begin.

    A side with `rounds` of its own takes part in so many rounds only.
    """
    taken: dict[str, list[float]] = {name: [] for name in sides}
    names = list(sides)
    for number in range(repeats + 1):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            if number <= (rounds or {}).get(name, repeats):
                taken[name].append(sides[name]())
        found = [f"{name} {taken[name][number]:.2f} s" for name in names if number < len(taken[name])]
        told(f"{f'round {number}' if number else 'warm-up'}: {', '.join(found)}")
    for name, seconds in taken.items():
        told(f"{name}: {spread(seconds[1:])}")
    return {name: min(seconds[1:]) for name, seconds in taken.items()}


def spread(seconds: Sequence[float]) -> str:
    """How far rounds are apart.

    >>> spread([1.0, 2.0, 3.0])
    'minimum 1.00 s, mean 2.00, maximum 3.00, deviation 1.00'
    """
    apart = stdev(seconds) if len(seconds) > 1 else 0.0
    return f"minimum {min(seconds):.2f} s, mean {mean(seconds):.2f}, maximum {max(seconds):.2f}, deviation {apart:.2f}"


def rate(events: int, seconds: float) -> str:
    """
    >>> rate(4_000_000, 8)
    '500 k/s'
    """
    return f"{events / seconds / 1000:,.0f} k/s"


def percentile(values: Sequence[float], share: int) -> float:
    return float(np.percentile(values, share))


def steps(measured: Sequence[tuple[str, float]]) -> tuple[str, ...]:
    """Cumulative measurements, each step doing all that the one before does and more, as lines of a profile."""
    lines, before = [], 0.0
    for name, seconds in measured:
        lines.append(f"{name}: {seconds:.2f} s (+{seconds - before:.2f})")
        before = seconds
    return tuple(lines)
