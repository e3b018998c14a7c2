"""Five hundred cards that pay as their owners do, for 30 days and now; some of them get stolen."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta

from tarnbeck.examples.feed import TIME, Tick, ages, form, spoiled

MONTH = timedelta(days=30)
COUNTRIES = ("AT", "DE", "IT", "SI")
SHOPS = ("bakery", "grocer", "petrol", "pharmacy", "books", "cinema")
LURES = ("jewels", "phones", "watches", "vouchers")
CARDS = 500
STOLEN = 0.01
"""The share of payments at which a card gets into other hands."""
WRONG = {
    "issued": ('{"time":"@time","card":"c999","country":"AT","most":"much"}',),
    "payments": (
        '{"time":"@time","card":"c017","shop":"bakery","country":"AT","amount":12.345}',
        '{"time":"@time","card":"c017","shop":"bakery","country":"AT","amount":"12,50"}',
        '{"card":"c017","shop":"bakery","country":"AT","amount":12.50}',
        "terminal offline",
    ),
}


def ticks(seed: int) -> Iterator[Tick]:
    """The cards and 30 days of payments at once, then without end what is paid now."""
    chance = random.Random(seed)
    return spoiled(chance, _paid(chance), WRONG)


def _paid(chance: random.Random) -> Iterator[Tick]:
    for number in range(CARDS):
        columns = {"card": f"c{number:03}", "country": _home(number), "most": 500}
        yield Tick("issued", form(time=TIME, **columns), 0.0, MONTH + timedelta(hours=1))
    for age in ages(MONTH, 10_000):
        yield _usual(chance, age, 0.0)
    while True:
        if chance.random() < STOLEN:
            yield from _theft(chance)
        yield _usual(chance, timedelta(), chance.expovariate(1.0))


def _usual(chance: random.Random, age: timedelta, gap: float) -> Tick:
    """At home, as a rule, and little."""
    number = chance.randrange(CARDS)
    country = _home(number) if chance.random() > 0.01 else chance.choice(COUNTRIES)
    amount = min(400.0, chance.lognormvariate(2.8, 0.7))
    return _payment(number, chance.choice(SHOPS), country, amount, age, gap)


def _theft(chance: random.Random) -> Iterator[Tick]:
    """Much in little time, until the card is empty."""
    number, country = chance.randrange(CARDS), chance.choice(("XX", "YY"))
    for _ in range(chance.randrange(4, 9)):
        amount = chance.uniform(250, 900)
        yield _payment(number, chance.choice(LURES), country, amount, timedelta(), chance.expovariate(1.0))


def _payment(number: int, shop: str, country: str, amount: float, age: timedelta, gap: float) -> Tick:
    columns = {"card": f"c{number:03}", "shop": shop, "country": country, "amount": round(amount, 2)}
    return Tick("payments", form(time=TIME, **columns), gap, age)


def _home(number: int) -> str:
    return COUNTRIES[number % len(COUNTRIES)]
