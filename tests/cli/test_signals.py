"""How signals end a command."""

from __future__ import annotations

import os
import signal

import pytest

from tarnbeck.cli.signals import asked_to_stop, stopped_by_signals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_and_the_second_insists(number: int) -> None:
    with asked_to_stop() as stop:
        os.kill(os.getpid(), number)
        assert stop.wait(5)
        with pytest.raises(KeyboardInterrupt):
            _kill_and_wait(number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_what_is_going_on_and_says_so(number: int, capfd: pytest.CaptureFixture[str]) -> None:
    with stopped_by_signals(), pytest.raises(KeyboardInterrupt):
        _kill_and_wait(number)
    assert capfd.readouterr().err == "tarnbeck: interrupted, stopping\n"


def test_the_time_that_was_given_asks_as_well() -> None:
    with asked_to_stop(after=0.01) as stop:
        assert stop.wait(5)


def test_former_handlers_come_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with stopped_by_signals(), asked_to_stop():
        pass
    assert signal.getsignal(signal.SIGTERM) is before


def _kill_and_wait(number: int) -> None:
    os.kill(os.getpid(), number)
    signal.sigtimedwait([], 5)
