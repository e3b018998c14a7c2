"""How the bench takes turns and what it tells of its rounds."""

from __future__ import annotations

from itertools import count

from bench.figure import race


def test_a_race_tells_minimum_mean_maximum_and_deviation_of_each_side() -> None:
    said: list[str] = []
    slower = count(2.0)
    best = race(3, {"ours": lambda: 1.0, "theirs": lambda: next(slower)}, said.append)
    assert best == {"ours": 1.0, "theirs": 3.0}
    assert said[-2:] == [
        "ours: minimum 1.00 s, mean 1.00, maximum 1.00, deviation 0.00",
        "theirs: minimum 3.00 s, mean 4.00, maximum 5.00, deviation 1.00",
    ]
