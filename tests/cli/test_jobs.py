"""Jobs as commands see them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tarnbeck.cli import audit, jobs
from tarnbeck.errors import LakeError, TarnbeckError


class Told:
    """A control that gives these updates for every job."""

    def __init__(self, *updates: dict[str, Any]) -> None:
        self._updates = updates

    def status(self) -> dict[str, Any]:
        return {}

    def run(self, job: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield from self._updates


def test_each_step_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    step = {"view": "ohlc", "step": "computing"}
    control = Told(step, {"done": 0.5}, step, {"view": "ohlc", "step": "publishing"}, {"result": 5})
    assert jobs.ask(control, {"do": "batch"}) == 5
    assert capsys.readouterr().err == "ohlc: computing\nohlc: publishing\n"


def test_an_error_comes_back_as_the_class_it_was() -> None:
    with pytest.raises(LakeError, match="a hole"):
        jobs.ask(Told({"error": {"kind": "LakeError", "message": "a hole"}}), {"do": "lake"})


def test_a_job_without_a_result_is_an_error() -> None:
    with pytest.raises(TarnbeckError, match="ended without a result"):
        jobs.ask(Told({"done": 1.0}), {"do": "lake"})


def test_an_audit_shows_what_was_served_and_what_was_recounted() -> None:
    sample = {"keys": ["EUR"], "level": 0, "start": 0, "served": ["5"], "recount": None}
    lines = list(audit.differing({"view": "ohlc", "samples": [sample]}))
    assert lines == [
        "ohlc [EUR] level 0 at 1970-01-01 00:00:00",
        "  served:    5",
        "  recounted: no such row",
    ]
