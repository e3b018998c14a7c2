"""The questions of docs/recipes.md, put to a real store."""

from __future__ import annotations

import datetime
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import tarnbeck as tb
from tarnbeck.serve import shape
from tarnbeck.serve.answer import Question, answer
from tarnbeck.testing import run
from tests.serve.sample import filled

UNIX = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
VISITS = [
    ("192.168.2.1", "foo.com/blog", 1318358),
    ("192.168.4.8", "foo.com/blog", 1318458),
    ("192.168.4.8", "foo.com/about", 1318898),
    ("192.250.6.9", "oof.com/item", 1318898),
    ("192.250.6.9", "foo.com/blog", 1818123),
    ("152.214.1.2", "goo.com/idx", 2010911),
    ("182.228.1.2", "foo.com/blog", 2012918),
    ("192.168.4.8", "foo.com/about", 2318898),
    ("192.250.6.9", "oof.com/item", 2318898),
]


def event(number: int, at: datetime.datetime, **columns: Any) -> dict[str, Any]:
    place = {"_partition": number % 2, "_offset": number // 2, "_index": 0, "_received": at, "_time": at}
    return place | columns


def test_people_per_domain_from_a_view_per_page(tmp_path: Path) -> None:
    app = tb.App("web")
    visits = app.stream("visits", "ip string, url string, time bigint", time=tb.epoch("time", "s"))
    app.view("visitors", visits, by="url", window=tb.tumbling("1 hour"), select={"people": tb.uniques("ip")})
    events = [
        event(n, UNIX + datetime.timedelta(seconds=time), ip=ip, url=url, time=time)
        for n, (ip, url, time) in enumerate(VISITS)
    ]
    store = filled(tmp_path / "store", app, events)
    domain = {"domain": "split_part(url, '/', 1)"}
    people: dict[tuple[str, int], set[str]] = defaultdict(set)
    for ip, url, time in VISITS:
        people[url.split("/")[0], time // 3600 * 3600].add(ip)
    found = answer(store, Question("visitors", shape=shape.read(domain, None))).dicts()
    assert {(row["domain"], int(row["start"].timestamp())): row["people"] for row in found} == {
        place: len(ips) for place, ips in people.items()
    }
    ever: dict[str, set[str]] = defaultdict(set)
    for ip, url, _ in VISITS:
        ever[url.split("/")[0]].add(ip)
    found = answer(store, Question("visitors", shape=shape.read(domain, "all"))).dicts()
    assert {row["domain"]: row["people"] for row in found} == {name: len(ips) for name, ips in ever.items()}
    store.close()


def test_trending_is_the_same_in_full_and_bit_by_bit(tmp_path: Path) -> None:
    """Seconds 1 to 600 and 2 to 601: from a store filled span by span, from all events at once, and by hand."""
    app = tb.App("tags")
    tweets = app.stream("tweets", "time timestamp, tag string", time="time")
    window = tb.sliding("10 minutes", every="1 second")
    app.view("trending", tweets, by="tag", window=window, select={"n": tb.count()})
    start = datetime.datetime(2026, 3, 1, 9, tzinfo=datetime.UTC)
    tagged = [(second, f"#{second * second % 7}") for second in range(1, 602)]
    moments = [(start + datetime.timedelta(seconds=second), tag) for second, tag in tagged]
    store = filled(tmp_path / "store", app, [event(n, at, time=at, tag=tag) for n, (at, tag) in enumerate(moments)])
    whole = run(app, [{"time": at, "tag": tag} for at, tag in moments])["trending"]
    for first in (1, 2):
        begin = start + datetime.timedelta(seconds=first)
        expected = Counter(tag for second, tag in tagged if first <= second < first + 600)
        stored = answer(store, Question("trending", limit=100_000)).dicts()
        for rows in (stored, whole):
            assert {row["tag"]: row["n"] for row in rows if row["start"] == begin} == expected
    store.close()
