"""Three shops that sell eight things; a lorry comes when little is left, but not always in time."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

from tarnbeck.examples.feed import TIME, Tick, ages, form, spoiled

SHOPS = ("north", "centre", "south")
ITEMS = {"bread": 9, "milk": 8, "eggs": 5, "tea": 3, "honey": 2, "soap": 2, "candles": 1, "matches": 1}
"""What is sold, and how often."""
PACK, LOW = 120, 25
RECEIPT = "@receipt"
WRONG = {
    "movements": (
        '{"time":"@time","receipt":"r0","shop":"north","item":"bread","kind":"sale","pieces":1.5}',
        '{"time":"@time","receipt":"r0","shop":"north","item":"bread","kind":"sale","pieces":"two"}',
        '{"receipt":"r0","shop":"north","item":"bread","kind":"sale","pieces":1}',
        "paper jam",
    )
}

Place = tuple[str, str]


def ticks(seed: int) -> Iterator[Tick]:
    """Full shelves and six hours of the past at once, then without end what is sold and delivered now."""
    chance = random.Random(seed)
    return spoiled(chance, _moved(chance), WRONG)


def _moved(chance: random.Random) -> Iterator[Tick]:
    for number, tick in enumerate(_movements(chance)):
        yield replace(tick, form=tick.form.replace(RECEIPT, f"r{number}"))


def _movements(chance: random.Random) -> Iterator[Tick]:
    shelves = {(item, shop): PACK for item in ITEMS for shop in SHOPS}
    for place in shelves:
        yield _movement(place, "delivery", PACK, timedelta(hours=7), 0.0)
    for age in ages(timedelta(hours=6), 3000):
        yield from _sale(chance, shelves, age, 0.0)
    while True:
        yield from _sale(chance, shelves, timedelta(), chance.expovariate(1.0))


def _sale(chance: random.Random, shelves: dict[Place, int], age: timedelta, gap: float) -> Iterator[Tick]:
    """Someone takes what is there; where little is left, a lorry may come."""
    place = chance.choices(list(ITEMS), list(ITEMS.values()))[0], chance.choice(SHOPS)
    pieces = min(chance.choice((1, 1, 1, 2, 3)), shelves[place])
    if pieces:
        shelves[place] -= pieces
        yield _movement(place, "sale", pieces, age, gap)
    if shelves[place] < LOW and chance.random() < 0.08:
        shelves[place] += PACK
        yield _movement(place, "delivery", PACK, age, 0.0 if pieces else gap)


def _movement(place: Place, kind: str, pieces: int, age: timedelta, gap: float) -> Tick:
    item, shop = place
    return Tick("movements", form(time=TIME, receipt=RECEIPT, shop=shop, item=item, kind=kind, pieces=pieces), gap, age)
