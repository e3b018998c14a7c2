"""What becomes of one key of a rule: from the condition holding, or not, at a moment to its next state and a notice."""

from __future__ import annotations

from dataclasses import dataclass, replace

PENDING, FIRING, RESOLVED, TEST = "pending", "firing", "resolved", "test"


@dataclass(frozen=True)
class Timing:
    """How long a condition must hold before it fires, and how often that is told again; microseconds."""

    lasting: int = 0
    every: int | None = None


@dataclass(frozen=True)
class State:
    """Pending or firing, since when, when it was last told of and how often; a key for which nothing holds has none."""

    state: str
    since: int
    told: int | None = None
    times: int = 0


def step(timing: Timing, before: State | None, holds: bool, now: int) -> tuple[State | None, str | None]:
    """The next state, and the notice that is due, if one is.

    >>> step(Timing(lasting=10), None, True, 100)
    (State(state='pending', since=100, told=None, times=0), None)
    >>> step(Timing(lasting=10), State("pending", 100), True, 110)
    (State(state='firing', since=100, told=110, times=1), 'firing')
    >>> step(Timing(lasting=10), State("firing", 100, 110, 1), False, 120)
    (None, 'resolved')
    """
    if not holds:
        return None, RESOLVED if before is not None and before.state == FIRING else None
    known = State(PENDING, now) if before is None else before
    if known.told is None:
        due = now - known.since >= timing.lasting
    else:
        due = timing.every is not None and now - known.told >= timing.every
    if not due:
        return known, None
    return replace(known, state=FIRING, told=now, times=known.times + 1), FIRING
