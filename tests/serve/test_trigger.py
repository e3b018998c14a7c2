"""Triggers: for any changes at any moments, a subscriber is told exactly when it must be, and never too little."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarnbeck.errors import UsageError
from tarnbeck.serve.trigger import After, Every, OnChange, OnClose, Pace, Trigger, read
from tarnbeck.testing import ManualClock

STEP = 250_000
TRIGGERS = ["change", "close", "1s", "3s", "after 1s", "after 700ms"]


def told(trigger: Trigger, changes: set[int], until: int) -> list[int]:
    """The moments at which someone is told who looks every quarter of a second."""
    clock, pace, found = ManualClock(), Pace(trigger), []
    while clock() <= until:
        if clock() in changes:
            pace.changed(clock())
        if pace.left(clock()) == 0:
            found.append(clock())
            pace.told()
        clock.turn("250 ms")
    return found


def expected(name: str, changes: set[int], until: int) -> list[int]:
    """The same by the words of the documentation, one quarter of a second after the other."""
    found, waiting = list[int](), list[int]()
    lengths = {"1s": 1_000_000, "3s": 3_000_000, "after 1s": 1_000_000, "after 700ms": 700_000}
    for now in range(0, until + 1, STEP):
        waiting += [now] if now in changes else []
        if not waiting:
            continue
        if name in ("change", "close"):
            tell = True
        elif name.startswith("after"):
            tell = now - waiting[0] >= lengths[name]
        else:
            # A moment of the clock has come since the first change, or is just now.
            tell = now // lengths[name] > (waiting[0] - 1) // lengths[name]
        if tell:
            found.append(now)
            waiting.clear()
    return found


MOMENTS = st.sets(st.integers(0, 60).map(lambda i: i * STEP))


@pytest.mark.parametrize("name", TRIGGERS)
@given(changes=MOMENTS)
def test_each_trigger_tells_exactly_when_its_words_say(name: str, changes: set[int]) -> None:
    until = 80 * STEP
    assert told(read(name), changes, until) == expected(name, changes, until)


@pytest.mark.parametrize("name", TRIGGERS)
@given(changes=MOMENTS)
def test_the_last_change_is_never_lost(name: str, changes: set[int]) -> None:
    moments = told(read(name), changes, 80 * STEP)
    assert bool(moments) == bool(changes)
    assert not changes or moments[-1] >= max(changes)


@given(st.integers(0, 10**15), st.integers(1, 10**6))
def test_moments_of_the_clock_are_multiples_and_never_before_the_change(first: int, milliseconds: int) -> None:
    length = milliseconds * 1000
    due = Every(length).due(first)
    assert 0 <= due - first < length
    assert due % length == 0 or length % (7 * 86_400_000_000) == 0


@pytest.mark.parametrize("trigger", [OnChange(), OnClose(), Every(10_000_000), After(90_000_000)])
def test_the_text_of_a_trigger_is_read_back(trigger: Trigger) -> None:
    assert read(str(trigger)) == trigger


@pytest.mark.parametrize("text", ["", "soon", "after", "after lunch", "every", "0s", "close 5s", "change now"])
def test_a_trigger_that_is_none_is_refused_with_those_that_there_are(text: str) -> None:
    with pytest.raises(UsageError, match=r"bad trigger .*\n  expected 'change', 'close'"):
        read(text)
