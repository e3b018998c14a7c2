"""Bitcoin ticks of several exchanges."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from tarnbeck.examples.feed import Tick, spoiled

EXCHANGES = ("bitstamp", "kraken", "coinbase", "bitfinex")
START = {"EUR": 58_400.0, "USD": 63_200.0, "GBP": 49_900.0}
JUMP = 0.0005

GOOD = '{"time":"@time","exchange":"%s","currency":"%s","price":%.2f,"volume":%.6f}'
SIDED = '{"time":"@time","exchange":"%s","currency":"%s","price":%.2f,"volume":%.6f,"side":"buy"}'
"""One exchange tells more than the stream declares: nothing of it may be lost."""
WRONG = {
    "prices": (
        "connection reset by peer",
        '{"time":"@time","exchange":"kraken","currency":"EUR","price":',
        '{"time":"@time","exchange":"kraken","currency":"EUR","price":"n/a","volume":0.1}',
        '{"time":"@time","exchange":"kraken","currency":"EUR","price":NaN,"volume":0.1}',
        '{"exchange":"bitstamp","currency":"USD","price":63200.00,"volume":0.1}',
        '{"time":"yesterday","exchange":"bitstamp","currency":"USD","price":63200.00,"volume":0.1}',
        '{"time":"@time","exchange":"bitfinex","currency":"GBP","currency":"USD","price":49900.00,"volume":0.1}',
        '{"time":"@time","exchange":"co\udcffnbase","currency":"GBP","price":49900.00,"volume":0.1}',
    )
}


def ticks(seed: int) -> Iterator[Tick]:
    """An endless feed, the same for the same seed.

    >>> next(ticks(1)) == next(ticks(1))
    True
    """
    chance = random.Random(seed)
    return spoiled(chance, _trades(chance), WRONG)


def _trades(chance: random.Random) -> Iterator[Tick]:
    prices = dict(START)
    while True:
        currency = chance.choices(("EUR", "USD", "GBP"), (3, 4, 1))[0]
        prices[currency] = _moved(chance, prices[currency], START[currency])
        exchange = chance.choices(EXCHANGES, (4, 3, 2, 1))[0]
        volume = chance.lognormvariate(-3.0, 1.5)
        quoted = prices[currency] * (1 + chance.gauss(0, 0.00003))
        form = (SIDED if exchange == "coinbase" else GOOD) % (exchange, currency, quoted, volume)
        yield Tick("prices", form, gap=chance.expovariate(1.0))


def _moved(chance: random.Random, price: float, home: float) -> float:
    """A random walk that jumps at times, and is drawn back a little so that it never leaves the world we know."""
    step = chance.gauss(0, 0.00003) + 0.00005 * math.log(home / price)
    if chance.random() < JUMP:
        step += chance.gauss(0, 0.002)
    return price * math.exp(step)
