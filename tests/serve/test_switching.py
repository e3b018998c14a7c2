"""Clients that ask all the time while views are switched and rolled back: old answers or new ones, nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.long


@pytest.mark.parametrize("switches", [6, pytest.param(40, marks=pytest.mark.long)])
def test_no_answer_is_wrong_missing_or_mixed_while_views_are_switched(switches: int, tmp_path: Path) -> None:
    from bench.switching import CLIENTS, watch

    found = watch(tmp_path, switches)
    assert (found.wrong, found.both, found.switches) == (0, CLIENTS, switches)
    assert found.asked >= switches * CLIENTS
