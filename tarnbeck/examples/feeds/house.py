"""A day of a house, and what goes on in it now: a damp crawlspace, a garage door left open, someone in a room."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from datetime import timedelta

from tarnbeck.examples.feed import TIME, Tick, ages, form, spoiled

DAY = timedelta(days=1)
PLACES = {"garage": (14.0, 60.0), "attic": (22.0, 55.0), "crawlspace": (12.0, 79.0), "living room": (21.0, 45.0)}
"""The usual temperature and humidity indoors."""
DOOR, MOTION = "garage door", "living room motion"
WRONG = {
    "sensors": (
        "sensor reset",
        '{"time":"@time","place":"attic","temperature":"nan","humidity":40}',
        '{"time":"@time","place":"attic","temperature":-127.0,"humidity":4',
        '{"place":"deck","temperature":11.5,"humidity":70,"pressure":1013}',
    ),
    "security": ('{"time":"just now","device":"garage door","state":"open"}', "garage door open"),
}


def ticks(seed: int) -> Iterator[Tick]:
    """A day of the past at once, then without end what happens now."""
    chance = random.Random(seed)
    return spoiled(chance, _house(chance), WRONG)


def _house(chance: random.Random) -> Iterator[Tick]:
    places = (*PLACES, "deck")
    for number, age in enumerate(ages(DAY, 1440)):
        yield _reading(chance, places[number % 5], -age / DAY, age, 0.0)
        if number % 144 == 0:
            yield _secured(DOOR, ("open", "closed")[number // 144 % 2], age, 0.0)
    opened, now = False, 0
    while True:
        now += 1
        gap = chance.expovariate(1.0)
        if chance.random() < 0.005:
            opened = not opened
            yield _secured(DOOR, "open" if opened else "closed", timedelta(), gap)
        elif chance.random() < 0.01:
            yield _secured(MOTION, chance.choice(("motion", "quiet")), timedelta(), gap)
        else:
            yield _reading(chance, chance.choice(places), now / 3000, timedelta(), gap)


def _reading(chance: random.Random, place: str, days: float, age: timedelta, gap: float) -> Tick:
    """What a place measures so many days from now; only the deck knows the pressure."""
    wave = math.sin(2 * math.pi * days)
    temperature, humidity = PLACES.get(place, (9.0 + 6.0 * wave, 75.0 - 10.0 * wave))
    columns = {
        "temperature": round(temperature + wave + chance.gauss(0, 0.2), 1),
        "humidity": round(min(99.0, humidity + 2.0 * wave + chance.gauss(0, 1.0)), 1),
    }
    if place == "deck":
        columns["pressure"] = round(1013.0 + 5.0 * wave + chance.gauss(0, 0.3), 1)
    return Tick("sensors", form(time=TIME, place=place, **columns), gap, age)


def _secured(device: str, state: str, age: timedelta, gap: float) -> Tick:
    return Tick("security", form(time=TIME, device=device, state=state), gap, age)
