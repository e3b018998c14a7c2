"""Five machines that hum along for a day; then a bearing begins to go, runs hot, and is changed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta

from tarnbeck.examples.feed import TIME, Tick, ages, form, spoiled

USUAL = {"press": 2.1, "lathe": 1.2, "mill": 1.6, "saw": 2.8, "pump": 0.9}
"""The usual vibration of each, in mm/s."""
LIFE = 180
"""Readings of a machine from a new bearing to a broken one."""
WRONG = {
    "readings": (
        '{"time":"@time","machine":"press","vibration":Infinity,"temperature":60}',
        '{"time":"@time","machine":"press","vibration":2.1,"temperature":"hot"}',
        '{"machine":"press","vibration":2.1,"temperature":60}',
        "\x00\x00\x00",
    )
}


def ticks(seed: int) -> Iterator[Tick]:
    """A day of the past at once, then without end what is measured now."""
    chance = random.Random(seed)
    return spoiled(chance, _measured(chance), WRONG)


def _measured(chance: random.Random) -> Iterator[Tick]:
    for age in ages(timedelta(days=1), 5000):
        yield _reading(chance, chance.choice(list(USUAL)), 0.0, age, 0.0)
    failing, worn = "mill", 0
    while True:
        machine = chance.choice(list(USUAL))
        worn += machine == failing
        if worn > LIFE:
            failing, worn = chance.choice(list(USUAL)), 0
        wear = (worn / LIFE) ** 2 if machine == failing else 0.0
        yield _reading(chance, machine, wear, timedelta(), chance.expovariate(1.0))


def _reading(chance: random.Random, machine: str, wear: float, age: timedelta, gap: float) -> Tick:
    """A bearing that is worn, from 0 to 1, shakes more and runs hotter."""
    vibration = USUAL[machine] * chance.gauss(1.0 + 2.0 * wear, 0.08 + 0.3 * wear)
    temperature = chance.gauss(62.0 + 45.0 * wear, 1.5)
    columns = {"vibration": round(max(0.0, vibration), 3), "temperature": round(temperature, 1)}
    return Tick("readings", form(time=TIME, machine=machine, **columns), gap, age)
