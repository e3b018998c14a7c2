"""Nine visits that everyone who reads about web analytics meets, three days of a small web, and what comes now."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta

from tarnbeck.examples.feed import SECONDS, Tick, ages, form, spoiled

ROWS = (
    ("192.168.2.1", "foo.com/blog", 1318358),
    ("192.168.4.8", "foo.com/blog", 1318458),
    ("192.168.4.8", "foo.com/about", 1318898),
    ("192.250.6.9", "oof.com/item", 1318898),
    ("192.250.6.9", "foo.com/blog", 1818123),
    ("152.214.1.2", "goo.com/idx", 2010911),
    ("182.228.1.2", "foo.com/blog", 2012918),
    ("192.168.4.8", "foo.com/about", 2318898),
    ("192.250.6.9", "oof.com/item", 2318898),
)
"""User, URL and time, in seconds, of January 1970."""
PAGES = {
    "foo.com/blog": 9,
    "foo.com/about": 2,
    "foo.com/shop": 4,
    "oof.com/item": 5,
    "oof.com/cart": 2,
    "goo.com/idx": 3,
}
WRONG = {
    "visits": (
        "GET /blog HTTP/1.1",
        '{"ip":"192.168.2.1","url":"foo.com/blog","time":"now"}',
        '{"ip":"192.168.2.1","url":"foo.com/blog"}',
        '{"ip":192.168,"url":17,"time":"@seconds"}',
    )
}


def ticks(seed: int) -> Iterator[Tick]:
    """The nine rows, three days of the past at once, then without end those who come now."""
    chance = random.Random(seed)
    for ip, url, time in ROWS:
        yield Tick("visits", form(ip=ip, url=url, time=time))
    yield from spoiled(chance, _visits(chance), WRONG)


def _visits(chance: random.Random) -> Iterator[Tick]:
    for age in ages(timedelta(days=3), 6000):
        yield _visit(chance, age, 0.0)
    while True:
        yield _visit(chance, timedelta(), chance.expovariate(1.0))


def _visit(chance: random.Random, age: timedelta, gap: float) -> Tick:
    """Few people come often, many come once."""
    person = int(chance.paretovariate(0.6)) % 50_000
    (url,) = chance.choices(list(PAGES), list(PAGES.values()))
    return Tick("visits", form(ip=f"10.{person // 250}.{person % 250}.1", url=url, time=SECONDS), gap, age)
