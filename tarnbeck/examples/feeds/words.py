"""Lines of text, as someone would type them into a terminal: 20 minutes of them, then on without end."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta

from tarnbeck.examples.feed import TIME, Tick, ages, form, spoiled

WHO = ("the tarn", "the beck", "a heron", "the old miller", "a trout", "the rain", "the hill")
DOES = ("feeds", "follows", "waits for", "hides from", "remembers", "crosses")
HOW = ("at dawn", "in the rain", "again and again", "without a sound", "  as ever", "")
WRONG = {
    "lines": (
        "the tarn feeds the beck",
        '{"time":"@time","line":["the","tarn"]}',
        '{"line":"no time to lose"}',
        '{"time":"@time","line":"the tarn fe',
    )
}


def ticks(seed: int) -> Iterator[Tick]:
    """Twenty minutes of the past at once, then without end what is typed now."""
    chance = random.Random(seed)
    return spoiled(chance, _lines(chance), WRONG)


def _lines(chance: random.Random) -> Iterator[Tick]:
    for age in ages(timedelta(minutes=20), 1200):
        yield _line(chance, age, 0.0)
    while True:
        yield _line(chance, timedelta(), chance.expovariate(1.0))


def _line(chance: random.Random, age: timedelta, gap: float) -> Tick:
    line = " ".join((chance.choice(WHO), chance.choice(DOES), chance.choice(WHO), chance.choice(HOW)))
    return Tick("lines", form(time=TIME, line=line), gap, age)
