"""The demo's feed: Bitcoin ticks of several exchanges, made from a seed, with everything that real feeds get wrong."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

EXCHANGES = ("bitstamp", "kraken", "coinbase", "bitfinex")
START = {"EUR": 58_400.0, "USD": 63_200.0, "GBP": 49_900.0}

BROKEN = 0.002
LATE = 0.02
TWICE = 0.01
JUMP = 0.0005


@dataclass(frozen=True)
class Tick:
    """One message to send `gap` mean intervals after the one before, `copies` times; its event is `age` old by then."""

    gap: float
    age: timedelta
    form: str
    copies: int = 1
    broken: bool = False

    def value(self, now: datetime) -> bytes:
        """The message as it is sent at this moment."""
        text = self.form.replace("@time", (now - self.age).isoformat(timespec="milliseconds").replace("+00:00", "Z"))
        # Only a broken message holds what UTF-8 can't: there it stands for the bare byte.
        return text.encode("utf-8", "surrogateescape")


GOOD = '{"time":"@time","exchange":"%s","currency":"%s","price":%.2f,"volume":%.6f}'
SIDED = '{"time":"@time","exchange":"%s","currency":"%s","price":%.2f,"volume":%.6f,"side":"buy"}'
"""One exchange tells more than the stream declares: nothing of it may be lost."""
WRONG = (
    "connection reset by peer",
    '{"time":"@time","exchange":"kraken","currency":"EUR","price":',
    '{"time":"@time","exchange":"kraken","currency":"EUR","price":"n/a","volume":0.1}',
    '{"time":"@time","exchange":"kraken","currency":"EUR","price":NaN,"volume":0.1}',
    '{"exchange":"bitstamp","currency":"USD","price":63200.00,"volume":0.1}',
    '{"time":"yesterday","exchange":"bitstamp","currency":"USD","price":63200.00,"volume":0.1}',
    '{"time":"@time","exchange":"bitfinex","currency":"GBP","currency":"USD","price":49900.00,"volume":0.1}',
    '{"time":"@time","exchange":"co\udcffnbase","currency":"GBP","price":49900.00,"volume":0.1}',
)


def ticks(seed: int) -> Iterator[Tick]:
    """An endless feed, the same for the same seed.

    >>> next(ticks(1)) == next(ticks(1))
    True
    """
    chance = random.Random(seed)
    prices = dict(START)
    while True:
        currency = chance.choices(("EUR", "USD", "GBP"), (3, 4, 1))[0]
        prices[currency] = _moved(chance, prices[currency], START[currency])
        gap, age = chance.expovariate(1.0), _age(chance)
        if chance.random() < BROKEN:
            yield Tick(gap, age, chance.choice(WRONG), broken=True)
            continue
        exchange = chance.choices(EXCHANGES, (4, 3, 2, 1))[0]
        volume = chance.lognormvariate(-3.0, 1.5)
        quoted = prices[currency] * (1 + chance.gauss(0, 0.00003))
        form = (SIDED if exchange == "coinbase" else GOOD) % (exchange, currency, quoted, volume)
        yield Tick(gap, age, form, copies=2 if chance.random() < TWICE else 1)


def _moved(chance: random.Random, price: float, home: float) -> float:
    """A random walk that jumps at times, and is drawn back a little so that it never leaves the world we know."""
    step = chance.gauss(0, 0.00003) + 0.00005 * math.log(home / price)
    if chance.random() < JUMP:
        step += chance.gauss(0, 0.002)
    return price * math.exp(step)


def _age(chance: random.Random) -> timedelta:
    """Most events are as old as the network makes them; some are late by up to minutes."""
    seconds = chance.expovariate(20.0)
    if chance.random() < LATE:
        seconds += chance.uniform(1, 180)
    return timedelta(seconds=seconds)
