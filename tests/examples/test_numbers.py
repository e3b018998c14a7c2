"""The numbers of every example against a recount of what was sent, in plain Python."""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tarnbeck.examples import strategy
from tarnbeck.serve.client import connect
from tests.examples.fed import NOON, Row, good, played, ran, stored
from tests.examples.recount import floor, grouped, true_at

pytestmark = pytest.mark.long

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def near(value: Any) -> Any:
    return pytest.approx(float(value), rel=1e-9, abs=1e-9)


def test_bitcoin_has_the_candles_of_every_minute() -> None:
    messages, found = played("bitcoin")
    recount = grouped(good(messages, "prices"), lambda each: (each["currency"], floor(each["time"], MINUTE)))
    rows = {(row["currency"], row["start"]): row for row in found.rows("ohlc", per="minute")}
    assert rows.keys() == recount.keys()
    for place, events in recount.items():
        prices = [event["price"] for event in events]
        row = rows[place]
        assert (row["open"], row["high"], row["low"], row["close"]) == (
            prices[0],
            max(prices),
            min(prices),
            prices[-1],
        )
        assert (row["trades"], row["spread"]) == (len(prices), max(prices) - min(prices))


def crossings(prices: list[Row]) -> list[Row]:
    """The orders of a strategy that looks at the averages of 5 and 30 seconds once a second."""
    euros = grouped(prices, lambda each: each["currency"])["EUR"]
    times = [each["time"] for each in euros]
    orders, holding = [], False
    now = floor(euros[0]["time"], timedelta(seconds=1))
    while now < NOON:
        now += timedelta(seconds=1)
        fast, slow = (
            [float(each["price"]) for each in euros[bisect_left(times, now - back) : bisect_left(times, now)]]
            for back in (timedelta(seconds=5), timedelta(seconds=30))
        )
        side = strategy.decide(statistics.fmean(fast), statistics.fmean(slow), holding) if fast else None
        if side is not None:
            orders.append(strategy.order(side, now))
            holding = side == "buy"
    return orders


def test_orders_are_filled_at_the_price_of_their_moment_and_the_account_adds_up() -> None:
    messages, _ = played("trading")
    prices = good(messages, "prices")
    orders = crossings(prices)
    assert len(orders) > 2
    euros = grouped(prices, lambda each: each["currency"])["EUR"]
    position, cash, price = Decimal(0), Decimal(10_000), Decimal(0)
    for order in orders:
        at = true_at(euros, order["time"])
        assert at is not None
        price = at["price"]
        coins = Decimal(order["coins"]) if order["side"] == "buy" else -Decimal(order["coins"])
        position, cash = position + coins, cash - coins * price
    (row,) = ran("trading", messages, orders=orders)["accounts"]
    assert (row["trader"], row["fills"], row["position"]) == (strategy.TRADER, len(orders), position)
    assert (row["cash"], row["price"]) == (cash, price)
    assert row["worth"] == near(cash + position * price)


def test_fills_do_not_depend_on_the_order_in_which_orders_come() -> None:
    messages, _ = played("trading")
    orders = crossings(good(messages, "prices"))
    assert (
        ran("trading", messages, orders=orders)["accounts"] == ran("trading", messages, orders=orders[::-1])["accounts"]
    )


def test_the_house_knows_its_climate_and_what_is_shown_in_the_living_room() -> None:
    messages, found = played("house")
    readings = good(messages, "sensors")
    recount = grouped(readings, lambda each: (each["place"], floor(each["time"], HOUR)))
    rows = {(row["place"], row["start"]): row for row in found.rows("climate", per="hour")}
    assert rows.keys() == recount.keys()
    for place, events in recount.items():
        degrees = [float(event["temperature"]) for event in events]
        row = rows[place]
        assert row["temperature"] == near(statistics.fmean(degrees))
        assert (row["coldest"], row["warmest"]) == (min(degrees), max(degrees))
        pressures = [event["pressure"] for event in events if "pressure" in event]
        assert row["pressure"] == (near(pressures[-1]) if pressures else None)
    newest = {place: events[-1] for place, events in grouped(readings, lambda each: each["place"]).items()}
    assert {row["place"]: row["temperature"] for row in found["display"]} == {
        place: float(event["temperature"]) for place, event in newest.items()
    }


def test_the_house_tells_what_is_open_what_moves_and_where_it_is_damp() -> None:
    messages, found = played("house")
    security = good(messages, "security")
    words = {"open": "open", "motion": "sensor"}
    alarms = Counter(
        (f"{each['device']} {words[each['state']]}", floor(each["time"], DAY))
        for each in security
        if each["state"] in words
    )
    assert {"garage door open", "living room motion sensor"} <= {message for message, _ in alarms}
    assert {(row["message"], row["start"]): row["alarms"] for row in found.rows("alarm_counts", per="day")} == alarms
    states = {device: events[-1]["state"] for device, events in grouped(security, lambda each: each["device"]).items()}
    assert {row["device"]: row["state"] for row in found["devices"]} == states
    damp = Counter(
        f"{each['place']} is damp"
        for each in good(messages, "sensors")
        if each["place"] in ("attic", "crawlspace") and each["humidity"] > 80
    )
    assert {row["message"]: row["readings"] for row in found["dampness"]} == damp


def test_wind_of_the_last_hour_against_the_last_day(tmp_path: Path) -> None:
    messages, found = played("wind")
    stored(tmp_path, found)
    with connect(tmp_path) as client:
        rows = list(client.query("speed", last="1h", against="1d", until=NOON))
    stations = grouped(good(messages, "wind"), lambda each: each["station"])
    assert [row["station"] for row in rows] == sorted(stations)
    for row in rows:
        for length, name in ((HOUR, "mph"), (DAY, "mph_against")):
            speeds = [float(e["mph"]) for e in stations[row["station"]] if NOON - length <= e["time"] < NOON]
            assert row[name] == near(statistics.fmean(speeds))


def test_wind_is_filtered_both_ways() -> None:
    messages, found = played("wind")
    readings = good(messages, "wind")
    strong = Counter((e["station"], floor(e["time"], MINUTE)) for e in readings if e["mph"] > 50)
    assert strong
    assert {(row["station"], row["start"]): row["readings"] for row in found["storms"]} == strong
    others = Counter(e["station"] for e in readings if e["mph"] <= 50)
    assert {row["station"]: row["readings"] for row in found["usual"]} == others


def test_emergency_calls_follow_the_wind(tmp_path: Path) -> None:
    messages, found = played("wind")
    stations = grouped(good(messages, "wind"), lambda each: each["station"])
    calls = good(messages, "calls")
    bands: Counter[int | None] = Counter()
    for call in calls:
        blown = true_at(stations[call["station"]], call["time"])
        bands[None if blown is None else 10 * math.floor(blown["mph"] / 10)] += 1
    assert {row["from_mph"]: row["calls"] for row in found["calls_by_wind"]} == bands
    per_minute = Counter((call["station"], floor(call["time"], MINUTE)) for call in calls)
    minutes = {
        (station, start): statistics.fmean(float(e["mph"]) for e in events)
        for station, all_of in stations.items()
        for start, events in grouped(all_of, lambda each: floor(each["time"], MINUTE)).items()
    }
    places = list(minutes)
    expected = statistics.correlation([minutes[at] for at in places], [per_minute[at] for at in places])
    stored(tmp_path, found)
    with connect(tmp_path) as client:
        asked = "select corr(mph, coalesce(calls, 0)) from speed left join emergencies using (station, start)"
        ((correlation,),) = (row.values() for row in client.sql(asked).dicts())
    assert correlation == pytest.approx(expected, rel=1e-6)
    assert correlation > 0.3


def test_people_are_counted_once_per_page_and_hour_and_once_per_domain(tmp_path: Path) -> None:
    messages, found = played("visitors")
    visits = good(messages, "visits")
    pages = grouped(visits, lambda each: (each["url"], floor(each["time"], HOUR)))
    rows = {(row["url"], row["start"]): row for row in found.rows("visitors", per="hour")}
    assert rows.keys() == pages.keys()
    for place, events in pages.items():
        assert rows[place]["views"] == len(events)
        assert rows[place]["people"] == pytest.approx(len({event["ip"] for event in events}), rel=0.05)
    stored(tmp_path, found)
    domains = grouped(visits, lambda each: (each["url"].split("/")[0], floor(each["time"], HOUR)))
    with connect(tmp_path) as client:
        asked = client.query("visitors", by={"domain": "split_part(url, '/', 1)"}, per="hour")
        by_domain = {(row["domain"], row["start"]): row["people"] for row in asked}
    assert by_domain.keys() == domains.keys()
    for domain, events in domains.items():
        assert by_domain[domain] == pytest.approx(len({event["ip"] for event in events}), rel=0.05)


def test_the_nine_visits_are_counted_as_they_were_written_down() -> None:
    _, found = played("visitors")
    rows = [row for row in found.rows("visitors", per="hour") if row["start"].year == 1970]
    assert [(row["url"], f"{row['start']:%d. %H}", row["people"], row["views"]) for row in rows] == [
        ("foo.com/about", "16. 06", 1, 1),
        ("foo.com/about", "27. 20", 1, 1),
        ("foo.com/blog", "16. 06", 2, 2),
        ("foo.com/blog", "22. 01", 1, 1),
        ("foo.com/blog", "24. 07", 1, 1),
        ("goo.com/idx", "24. 06", 1, 1),
        ("oof.com/item", "16. 06", 1, 1),
        ("oof.com/item", "27. 20", 1, 1),
    ]


def test_trending_counts_the_ten_minutes_before_each_second(tmp_path: Path) -> None:
    messages, found = played("hashtags")
    tags = good(messages, "tags")
    rows = {(row["tag"], row["end"]): row["uses"] for row in found["trending"]}
    for back in (0, 1, 2, 59, 601, 1234):
        end = NOON - timedelta(seconds=back)
        expected = Counter(each["tag"] for each in tags if end - 10 * MINUTE <= each["time"] < end)
        assert len(expected) > 10
        assert {tag: uses for (tag, at), uses in rows.items() if at == end} == expected
    stored(tmp_path, found)
    now = Counter(each["tag"] for each in tags if each["time"] >= NOON - 10 * MINUTE)
    with connect(tmp_path) as client:
        top = client.query("trending", last="10m", every="all", top="uses", limit=3, until=NOON)
        assert [row["uses"] for row in top] == [uses for _, uses in now.most_common(3)]


def test_where_sally_and_bob_live_and_lived() -> None:
    _, found = played("homes")

    def at(moment: str) -> dict[str, str]:
        rows = found.rows("homes", as_of=moment)
        return {row["person"]: row["location"] for row in rows if row["person"] in ("Sally", "Bob")}

    assert at("1970-01-15T00:00Z") == {}
    assert at("1970-01-16T00:00Z") == {"Bob": "Chicago"}
    assert at("1970-01-16T10:00Z") == {"Bob": "Chicago", "Sally": "Philadelphia"}
    assert at("2026-03-01T12:00Z") == {"Bob": "Chicago", "Sally": "New York"}
    living = {row["location"]: row["people"] for row in found.rows("living", as_of="1970-01-16T12:00Z")}
    assert living == {"Chicago": 1, "New York": 1}


@pytest.mark.parametrize("moment", ["2024-02-01T00:00Z", "2025-08-15T00:00Z", "2026-01-01T00:00Z", "2026-03-02T00:00Z"])
def test_how_many_live_where_at_any_moment(moment: str) -> None:
    messages, found = played("homes")
    people = grouped(good(messages, "moves"), lambda each: each["person"])
    homes = [true_at(moves, datetime.fromisoformat(moment)) for moves in people.values()]
    expected = Counter(home["location"] for home in homes if home is not None)
    rows = found.rows("living", as_of=moment)
    assert {row["location"]: row["people"] for row in rows} == expected
    if moment.startswith("2025-08"):
        assert expected.most_common(1)[0][0] == "Lisbon"


def test_words_are_counted_per_second_in_ten_minutes_and_ever() -> None:
    messages, found = played("words")
    lines = good(messages, "lines")

    def counted(some: Iterable[Row]) -> Counter[str]:
        return Counter(word for each in some for word in each["line"].split())

    def words(row: Row) -> dict[str, int]:
        return {each["word"]: each["count"] for each in row["words"]}

    (ever,) = found["ever"]
    assert (ever["lines"], words(ever)) == (len(lines), counted(lines))
    seconds = grouped(lines, lambda each: floor(each["time"], timedelta(seconds=1)))
    kept = {start: counted(some) for start, some in seconds.items()}
    assert {row["start"]: words(row) for row in found["seconds"]} == kept
    for row in found["minutes"]:
        assert words(row) == counted(each for each in lines if row["start"] <= each["time"] < row["end"])


def test_cards_that_spend_too_much_in_ten_minutes_are_found(tmp_path: Path) -> None:
    messages, found = played("cards")
    payments = good(messages, "payments")
    length = timedelta(minutes=10)
    spent: dict[tuple[str, datetime], Decimal] = defaultdict(Decimal)
    for each in payments:
        if floor(each["time"], length) + length >= NOON - timedelta(days=30):
            spent[each["card"], floor(each["time"], length)] += Decimal(each["amount"])
    assert {(row["card"], row["start"]): row["spent"] for row in found["spending"]} == spent
    ranges: dict[str, Counter[str]] = {"now": Counter(), "before": Counter()}
    for (card, start), amount in spent.items():
        for name, back in (("now", length), ("before", timedelta(days=30))):
            ranges[name][card] += amount if start + length > NOON - back else 0  # type: ignore[assignment]
    expected = {card for card, amount in ranges["now"].items() if amount > 500 and amount > ranges["before"][card] / 2}
    assert len(expected) > 2
    stored(tmp_path, found)
    having = "spent > 500 and spent > spent_against / 2"
    with connect(tmp_path) as client:
        rows = client.query("spending", last="10m", against="30d", having=having, until=NOON)
        assert {row["card"] for row in rows} == expected


def test_payments_that_do_not_fit_their_card_are_cases() -> None:
    messages, found = played("cards")
    issued = grouped(good(messages, "issued"), lambda each: each["card"])
    cases: dict[tuple[str, str], list[Decimal]] = defaultdict(list)
    for each in good(messages, "payments"):
        card = true_at(issued.get(each["card"], []), each["time"])
        if card is not None and each["amount"] > card["most"]:
            cases[each["card"], "above its limit"].append(Decimal(each["amount"]))
        elif card is not None and each["country"] != card["country"]:
            cases[each["card"], "abroad"].append(Decimal(each["amount"]))
    assert {(row["card"], row["reason"]): (row["payments"], row["amount"]) for row in found["cases"]} == {
        place: (len(amounts), sum(amounts)) for place, amounts in cases.items()
    }


def test_shelves_hold_what_was_delivered_less_what_was_sold_each_receipt_once() -> None:
    messages, found = played("stock")
    movements = good(messages, "movements")
    receipts = {each["receipt"]: each for each in movements}
    assert len(receipts) < len(movements)
    left: Counter[tuple[str, str]] = Counter()
    for each in receipts.values():
        left[each["item"], each["shop"]] += each["pieces"] if each["kind"] == "delivery" else -each["pieces"]
    assert {(row["item"], row["shop"]): row["left"] for row in found["shelves"]} == left
    assert any(pieces < 10 for pieces in left.values())
    sold: Counter[tuple[str, str, datetime]] = Counter()
    for each in movements:
        if each["kind"] == "sale":
            sold[each["item"], each["shop"], floor(each["time"], MINUTE)] += each["pieces"]
    assert {(row["item"], row["shop"], row["start"]): row["sold"] for row in found["pace"]} == sold


def test_machines_that_leave_what_is_usual_are_found(tmp_path: Path) -> None:
    messages, found = played("machines")
    readings = good(messages, "readings")
    windows = grouped(readings, lambda each: (each["machine"], floor(each["time"], timedelta(seconds=10))))
    rows = {(row["machine"], row["start"]): row for row in found["health"]}
    assert rows.keys() == windows.keys()
    for place, events in windows.items():
        shaken = [float(event["vibration"]) for event in events]
        row = rows[place]
        assert (row["vibration"], row["worst"]) == (near(statistics.fmean(shaken)), max(shaken))
        assert row["spread"] == (near(statistics.stdev(shaken)) if len(shaken) > 1 else None)
    hot = grouped((each for each in readings if each["temperature"] > 95), lambda each: each["machine"])
    assert {row["machine"]: (row["readings"], row["since"]) for row in found["stopped"]} == {
        machine: (len(events), events[0]["time"]) for machine, events in hot.items()
    }
    stored(tmp_path, found)
    having = "vibration > vibration_against + 3 * spread_against"
    ends = [floor(NOON, timedelta(seconds=10)) - timedelta(seconds=10 * back) for back in range(0, 30, 3)]
    flagged: list[set[str]] = []
    with connect(tmp_path) as client:
        for end in ends:
            asked = client.query("health", last="20s", against="1d", having=having, until=end)
            flagged.append({row["machine"] for row in asked})
            assert flagged[-1] == unusual(readings, end)
    assert any(flagged)


def unusual(readings: list[Row], end: datetime) -> set[str]:
    """The machines whose vibration of the last 20 seconds is beyond three deviations of the day."""
    found = set()
    for machine, events in grouped(readings, lambda each: each["machine"]).items():
        day = [float(e["vibration"]) for e in events if end - DAY <= e["time"] < end]
        now = [float(e["vibration"]) for e in events if end - timedelta(seconds=20) <= e["time"] < end]
        if now and statistics.fmean(now) > statistics.fmean(day) + 3 * statistics.stdev(day):
            found.add(machine)
    return found


def holding(name: str, rule: str, view: str, per: str | None = None) -> list[Row]:
    """The rows of a view for which the condition of an alert holds."""
    _, found = played(name)
    holds = found.app.alerts[rule].when.python()
    return [row for row in found.rows(view, per=per) if holds(row)]


def test_alerts_hold_for_what_a_person_would_point_at() -> None:
    _, house = played("house")
    assert holding("house", "left_open", "devices") == [row for row in house["devices"] if row["state"] == "open"]
    assert {row["place"] for row in holding("house", "damp", "climate", per="minute")} == {"crawlspace"}
    _, cards = played("cards")
    assert holding("cards", "spree", "spending") == [row for row in cards["spending"] if row["spent"] > 1000]
    _, stock = played("stock")
    assert holding("stock", "short", "shelves") == [row for row in stock["shelves"] if row["left"] < 10]
    _, machines = played("machines")
    hot = holding("machines", "failing", "health")
    assert hot == [row for row in machines["health"] if row["temperature"] > 80]
    assert "mill" in {row["machine"] for row in hot}
