"""The state machine of one key against an oracle that reads the whole sequence at once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tarnbeck.alert.state import FIRING, RESOLVED, State, Timing, step

Sample = tuple[int, bool]

timings = st.builds(Timing, st.integers(0, 8), st.none() | st.integers(1, 6))
samples = st.lists(st.tuples(st.integers(1, 4), st.booleans()), max_size=40)


def at_moments(gaps: list[tuple[int, bool]]) -> list[Sample]:
    moments, now = [], 100
    for gap, holds in gaps:
        now += gap
        moments.append((now, holds))
    return moments


def machine(timing: Timing, sequence: list[Sample]) -> list[tuple[int, str]]:
    state: State | None = None
    told = []
    for now, holds in sequence:
        state, due = step(timing, state, holds, now)
        if due is not None:
            told.append((now, due))
    return told


def oracle(timing: Timing, sequence: list[Sample]) -> list[tuple[int, str]]:
    """Cuts the sequence into runs in which the condition holds, and tells of each run for itself."""
    told: list[tuple[int, str]] = []
    runs: list[list[int]] = []
    ends: list[int | None] = []
    inside = False
    for now, holds in sequence:
        if holds and not inside:
            runs.append([])
            ends.append(None)
        if holds:
            runs[-1].append(now)
        elif inside:
            ends[-1] = now
        inside = holds
    for run, end in zip(runs, ends, strict=True):
        long_enough = [now for now in run if now >= run[0] + timing.lasting]
        if not long_enough:
            continue
        last = long_enough[0]
        told.append((last, FIRING))
        for now in long_enough[1:]:
            if timing.every is not None and now >= last + timing.every:
                told.append((now, FIRING))
                last = now
        if end is not None:
            told.append((end, RESOLVED))
    return told


@given(timings, samples)
def test_notices_are_those_of_the_oracle(timing: Timing, gaps: list[tuple[int, bool]]) -> None:
    sequence = at_moments(gaps)
    assert machine(timing, sequence) == oracle(timing, sequence)


@given(timings, samples)
def test_firing_and_resolved_take_turns_unless_repeats_are_asked_for(
    timing: Timing, gaps: list[tuple[int, bool]]
) -> None:
    told = [state for _, state in machine(Timing(timing.lasting), at_moments(gaps))]
    assert told == [FIRING if place % 2 == 0 else RESOLVED for place in range(len(told))]


def test_a_state_says_since_when_and_how_often() -> None:
    timing, state = Timing(lasting=5, every=10), None
    for now in (100, 104, 105, 110, 115):
        state, _ = step(timing, state, True, now)
    assert state == State(FIRING, since=100, told=115, times=2)
