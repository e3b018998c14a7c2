"""The examples that can be run: what each shows, what feeds it, what to watch, and what to ask."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tarnbeck.examples import strategy
from tarnbeck.examples.feed import Tick
from tarnbeck.examples.feeds import (
    bitcoin,
    cards,
    hashtags,
    homes,
    house,
    machines,
    stock,
    trading,
    visitors,
    wind,
    words,
)

if TYPE_CHECKING:
    from tarnbeck.serve.client import Client

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Watch:
    """What is shown while an example runs: a view, of some keys, at some level, and the column that is drawn."""

    view: str
    keys: Mapping[str, str] = field(default_factory=dict)
    last: str | None = None
    per: str | None = None
    column: str | None = None


@dataclass(frozen=True)
class Example:
    """One example: its app is the file of its name, `feed` gives its events by a seed, `rate` of them a second.

    What runs `beside` it is a program that asks and sends like any other, until it is told to stop.
    """

    name: str
    title: str
    feed: Callable[[int], Iterator[Tick]]
    rate: float
    watch: Watch
    questions: tuple[str, ...]
    beside: Callable[[Client, threading.Event], None] | None = None

    @property
    def app(self) -> Path:
        return (HERE / f"{self.name}.py").resolve()


def _registry(*examples: Example) -> dict[str, Example]:
    return {example.name: example for example in examples}


EXAMPLES = _registry(
    Example(
        "bitcoin",
        "prices of several exchanges as candles from seconds to years; what `tarnbeck demo` runs",
        bitcoin.ticks,
        200,
        Watch("ohlc", {"currency": "EUR"}, per="second", column="close"),
        (
            "tarnbeck query ohlc currency=EUR --last 1h --per minute",
            "tarnbeck watch ohlc currency=EUR --per second --column close",
            '''tarnbeck sql "select currency, sum(trades) as trades from ohlc where level = 'hour' group by all"''',
            "curl -s 'localhost:8787/views/volume?exchange=kraken&last=1h'",
        ),
    ),
    Example(
        "trading",
        "a strategy that trades bitcoins with play money on a simulated exchange",
        trading.ticks,
        200,
        Watch("seconds", {"currency": "EUR"}, column="mean"),
        (
            "tarnbeck query accounts",
            "tarnbeck query seconds currency=EUR --last 5s --against 30s",
            "tarnbeck tail fills --from earliest",
            'tarnbeck sql "select trader, cash, cash::double + position::double * quotes.price as worth_now '
            "from accounts, quotes where currency = 'EUR'\"",
            "curl -s 'localhost:8787/views/accounts?trader=crossing'",
        ),
        beside=strategy.trade,
    ),
    Example(
        "house",
        "sensors in five places and a security system: the climate, what is open now, alarms",
        house.ticks,
        10,
        Watch("climate", last="10m", per="minute", column="temperature"),
        (
            "tarnbeck query display",
            "tarnbeck query climate place=deck --per hour --last 1d",
            "tarnbeck query devices",
            "tarnbeck query alarm_counts --per day",
            "tarnbeck tail alarms",
            "tarnbeck alerts",
            'tarnbeck sql "select place, temperature from display'
            " where place in ('living room', 'deck') order by place\"",
            "curl -s 'localhost:8787/views/climate?place=deck&per=hour&last=1d'",
        ),
    ),
    Example(
        "wind",
        "wind of the last hour against the last day, and emergency calls against the wind",
        wind.ticks,
        6,
        Watch("speed", last="30m", column="mph"),
        (
            "tarnbeck query speed --last 1h --against 1d",
            "tarnbeck query calls_by_wind",
            'tarnbeck sql "select corr(mph, coalesce(calls, 0)) as correlation'
            ' from speed left join emergencies using (station, start)"',
            "tarnbeck tail storm",
            "curl -s 'localhost:8787/views/speed?last=1h&against=1d'",
        ),
    ),
    Example(
        "visitors",
        "unique people per page and hour, and per domain from the same states",
        visitors.ticks,
        10,
        Watch("visitors", last="3h", per="hour", column="people"),
        (
            "tarnbeck query visitors --by \"domain=split_part(url, '/', 1)\" --last 3d",
            "tarnbeck query visitors url=foo.com/blog --per hour --until 1970-02-01",
            "tarnbeck query visitors --by '' --per day --last 3d",
            "tarnbeck sql \"select domain, people, views from visitors(by => 'domain=split_part(url, ''/'', 1)', "
            "every => 'all') order by people desc\"",
            "curl -s 'localhost:8787/views/visitors?by=&per=day&last=3d'",
        ),
    ),
    Example(
        "hashtags",
        "the hashtags of the last ten minutes, second by second",
        hashtags.ticks,
        5,
        Watch("minutes", last="30m", column="uses"),
        (
            "tarnbeck query trending --last 10m --every all --top uses --limit 10",
            "tarnbeck watch trending tag=#news --last 10m --on close",
            "tarnbeck query minutes --last 5m",
            'tarnbeck sql "select tag, max(uses) as most from trending group by tag order by most desc limit 5"',
            "curl -s 'localhost:8787/views/trending?last=10m&every=all&top=uses&limit=10'",
        ),
    ),
    Example(
        "homes",
        "who lives where, now and at any moment before",
        homes.ticks,
        1,
        Watch("living"),
        (
            "tarnbeck query homes person=Sally",
            "tarnbeck query homes person=Sally --as-of 1970-01-16T10:00",
            "tarnbeck query living location=Chicago",
            "tarnbeck query living --as-of 2025-08-15 --top people --limit 3",
            "tarnbeck query arrivals --per month --since 2025-06-01 --until 2025-09-01 --every all --top moves",
            'tarnbeck sql "select now.person, before.location as moved_from, now.location as moved_to from homes as now'
            " join homes(as_of => '1970-01-16T10:00') as before using (person)\"",
            "curl -s 'localhost:8787/views/homes?person=Sally&as_of=1970-01-16T10:00'",
        ),
    ),
    Example(
        "words",
        "word count: of each second, of the last ten minutes, and ever",
        words.ticks,
        5,
        Watch("ever"),
        (
            "tarnbeck query seconds --last 10s",
            "tarnbeck query minutes --last 10m --every all",
            'tarnbeck sql "select w.word, w.count from (select unnest(words) as w from ever) limit 10"',
            "curl -s localhost:8787/views/ever",
        ),
    ),
    Example(
        "cards",
        "card fraud: payments that don't fit the card, and ten minutes against thirty days",
        cards.ticks,
        2,
        Watch("cases"),
        (
            "tarnbeck query spending --last 10m --against 30d --having 'spent > 500 and spent > spent_against / 2'",
            "tarnbeck query cases --top amount --limit 10",
            "tarnbeck tail suspicious",
            "tarnbeck alerts",
            'tarnbeck sql "select reason, count(*) as cards, sum(amount) as amount from cases group by reason"',
            "curl -s 'localhost:8787/views/cases?top=amount&limit=10'",
        ),
    ),
    Example(
        "stock",
        "out of stock in seconds: deliveries less sales, by item and shop",
        stock.ticks,
        20,
        Watch("shelves"),
        (
            "tarnbeck query shelves --having 'left < 10'",
            "tarnbeck alerts",
            "tarnbeck query shelves --by item --top sold --limit 3",
            'tarnbeck sql "select item, shop, shelves.left / pace.sold::double * 10 as minutes from shelves '
            "join pace(last => '10m', every => 'all') as pace using (item, shop) order by minutes limit 5\"",
            "curl -s 'localhost:8787/views/shelves?shop=north'",
        ),
    ),
    Example(
        "machines",
        "equipment failure: vibration that leaves what is usual, bearings that run hot",
        machines.ticks,
        20,
        Watch("health", last="10m", column="vibration"),
        (
            "tarnbeck query health --last 20s --against 1d"
            " --having 'vibration > vibration_against + 3 * spread_against'",
            "tarnbeck query health machine=mill --last 5m",
            "tarnbeck query stopped",
            "tarnbeck tail stops",
            "tarnbeck alerts",
            'tarnbeck sql "select machine, worst, start from health order by worst desc limit 3"',
            "curl -s 'localhost:8787/views/health?machine=mill&last=5m'",
        ),
    ),
)
