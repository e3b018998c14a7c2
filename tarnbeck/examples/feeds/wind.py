"""Three weather stations over a day, a storm that comes and goes, and the calls that it causes."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from datetime import timedelta

from tarnbeck.examples.feed import TIME, Tick, ages, form, spoiled

DAY = timedelta(days=1)
STATIONS = {"harbour": 1.3, "hill": 1.1, "valley": 0.7}
"""How much of the wind each station gets."""
KINDS = ("tree on road", "roof damage", "power line", "injury", "other")
WRONG = {
    "wind": (
        '{"time":"@time","station":"hill","mph":"calm"}',
        '{"time":"@time","station":"hill","mph":12.5',
        '{"station":"harbour","mph":18.0}',
        "ERR 17: anemometer iced",
    ),
    "calls": ('{"time":"@time","station":"harbour","kind":911}', "line dropped"),
}


def ticks(seed: int) -> Iterator[Tick]:
    """A day of the past at once, with a storm three hours ago, then without end a storm that waxes and wanes."""
    chance = random.Random(seed)
    return spoiled(chance, _weather(chance), WRONG)


def _weather(chance: random.Random) -> Iterator[Tick]:
    for number, age in enumerate(ages(DAY, 2880)):
        hours = age / timedelta(hours=1)
        blowing = 15.0 + 30.0 * math.exp(-((hours - 3.0) ** 2))
        yield from _moment(chance, list(STATIONS)[number % 3], blowing, age, 0.0, share=1.0)
    now = 0
    while True:
        now += 1
        station, blowing = chance.choice(list(STATIONS)), 32.0 + 18.0 * math.sin(now / 60)
        yield from _moment(chance, station, blowing, timedelta(), chance.expovariate(1.0), share=0.02)


def _moment(
    chance: random.Random, station: str, blowing: float, age: timedelta, gap: float, share: float
) -> Iterator[Tick]:
    """A reading, and a call soon after it the likelier the stronger the wind is."""
    mph = max(0.0, blowing * STATIONS[station] + chance.gauss(0, 3.0))
    yield Tick("wind", form(time=TIME, station=station, mph=round(mph, 1)), gap, age)
    if chance.random() < share * (mph / 60.0) ** 3:
        kind = chance.choices(KINDS, (5, 3, 2, 1, 1))[0]
        yield Tick("calls", form(time=TIME, station=station, kind=kind), 0.0, age)
