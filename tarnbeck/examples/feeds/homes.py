"""Sally and Bob, as everyone knows them, and others who moved in 2024 and 2025, and move now."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime

from tarnbeck.examples.feed import SECONDS, Tick, form, spoiled

ROWS = (("Sally", "Philadelphia", 1318358), ("Bob", "Chicago", 1237921), ("Sally", "New York", 1338812))
"""Person, location and time, in seconds, of January 1970."""
NAMES = ("Ann", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana", "Ivo", "Joan", "Kim", "Lea", "Max", "Nia", "Oli")
CITIES = ("Philadelphia", "Chicago", "New York", "Vienna", "Oslo", "Lisbon")
FIRST, LENGTH, MOVES = 1_704_067_200, 731 * 86_400, 1200
"""From the start of 2024 on, for two years."""
WRONG = {
    "moves": (
        '{"person":"Sally","location":"New York","time":"last week"}',
        '{"person":"Bob","location":"Chicago"}',
        "moved, address unknown",
    )
}


def ticks(seed: int) -> Iterator[Tick]:
    """The three rows, the two years at once, then without end those who move now."""
    chance = random.Random(seed)
    for person, location, time in ROWS:
        yield Tick("moves", form(person=person, location=location, time=time))
    yield from spoiled(chance, _moves(chance), WRONG)


def _moves(chance: random.Random) -> Iterator[Tick]:
    for number in range(MOVES):
        time = FIRST + LENGTH * number // MOVES
        yield _move(chance, time, 0.0, summer=6 <= datetime.fromtimestamp(time, UTC).month <= 8)
    while True:
        yield _move(chance, SECONDS, chance.expovariate(1.0), summer=False)


def _move(chance: random.Random, time: int | str, gap: float, summer: bool) -> Tick:
    """Someone moves, in summer as a rule to the sea."""
    person = f"{chance.choice(NAMES)} {chance.choice('ABCDEFGHIJ')}."
    location = chance.choices(CITIES, (2, 2, 3, 3, 1, 12 if summer else 1))[0]
    return Tick("moves", form(person=person, location=location, time=time), gap)
