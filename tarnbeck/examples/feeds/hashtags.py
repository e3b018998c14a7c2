"""What people tag, half an hour back and now: old favourites, and every few minutes something new that bursts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta

from tarnbeck.examples.feed import TIME, Tick, ages, form, spoiled

FAVOURITES = ("#news", "#music", "#football", "#coffee", "#python", "#travel", "#cats", "#art", "#rain", "#monday")
BURSTS = ("#eclipse", "#finale", "#outage", "#goal", "#snow")
BURST = 1200
"""Uses for which something bursts before something else does."""
WRONG = {
    "tags": (
        '{"time":"@time","person":"ann","tag":["#news","#rain"]}',
        '{"time":"@time","person":"ann","tag":"#ne',
        '{"person":"bob","tag":"#news"}',
        "rate limit exceeded",
    )
}


def ticks(seed: int) -> Iterator[Tick]:
    """Half an hour of the past at once, then without end what is tagged now."""
    chance = random.Random(seed)
    return spoiled(chance, _tagged(chance), WRONG)


def _tagged(chance: random.Random) -> Iterator[Tick]:
    number = 0
    for number, age in enumerate(ages(timedelta(minutes=30), 3600)):
        yield _use(chance, number, age, 0.0)
    while True:
        number += 1
        yield _use(chance, number, timedelta(), chance.expovariate(1.0))


def _use(chance: random.Random, number: int, age: timedelta, gap: float) -> Tick:
    """Everyone has favourites; what bursts takes a growing share, and is forgotten."""
    tag = chance.choices(FAVOURITES, range(len(FAVOURITES), 0, -1))[0]
    if chance.random() < 0.5 * (number % BURST) / BURST:
        tag = BURSTS[number // BURST % len(BURSTS)]
    return Tick("tags", form(time=TIME, person=f"person{chance.randrange(5000)}", tag=tag), gap, age)
