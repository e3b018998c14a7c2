"""How many records one micro-batch may have, by their size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tarnbeck.log.settings import LogSettings
from tarnbeck.spark.supervised import Moved, Query, _Attempt

MIB = 1 << 20


def attempt(size: float | None, *, most: int = 1_000_000, most_bytes: int = 128 * MIB) -> _Attempt:
    nobody: Any = None
    query = Query(
        "q",
        LogSettings("localhost:1"),
        Path(),
        "0 seconds",
        most,
        most_bytes,
        starts=nobody,
        misplaced=nobody,
        handle=nobody,
        failed=nobody,
    )
    made = _Attempt(query, nobody, size)
    made.most = made._bound()
    return made


@pytest.mark.parametrize(
    ("size", "most"), [(None, 1_000_000), (10, 1_000_000), (1024, 131_072), (MIB, 128), (1024 * MIB, 1), (0, 1_000_000)]
)
def test_the_larger_records_are_the_fewer_come_at_once(size: float | None, most: int) -> None:
    assert attempt(size).most == most


@pytest.mark.parametrize(
    ("size", "count", "weight", "moved"),
    [
        (None, 1_000_000, 90 * MIB, False),
        (None, 1_000_000, 900 * MIB, True),
        (None, 1_000, 900 * MIB, False),
        (MIB, 128, 128 * MIB, False),
        (MIB, 128, 40 * MIB, False),
        (MIB, 128, MIB, True),
        (MIB, 3, 300, False),
        (MIB, 0, 0, False),
    ],
)
def test_a_bound_is_found_anew_when_it_was_reached_and_is_far_off(
    size: float | None, count: int, weight: int, moved: bool
) -> None:
    made = attempt(size)
    if not moved:
        made._rebound(count, weight)
        return
    with pytest.raises(Moved, match="records have"):
        made._rebound(count, weight)
    again = attempt(made.size)
    again._rebound(again.most, round(again.most * weight / count))
