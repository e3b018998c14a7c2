"""The views over a few orders, in memory: no Kafka, no Spark, milliseconds."""

from app import app

from tarnbeck.testing import run

ORDERS = [
    {"time": "2026-03-01T09:00:10Z", "item": "tea", "country": "AT", "price": 4.5, "pieces": 2},
    {"time": "2026-03-01T17:45:00Z", "item": "tea", "country": "FR", "price": 4.8, "pieces": 1},
    {"time": "2026-03-02T11:05:30Z", "item": "tea", "country": "FR", "price": 4.8, "pieces": 0},
]


def test_orders_of_a_day_add_up():
    first, second = run(app, ORDERS).rows("sales", per="day")
    assert (first["orders"], first["pieces"], str(first["turnover"])) == (2, 3, "13.80")
    assert second["orders"] == 1


def test_an_order_of_nothing_does_not_count_for_its_country():
    assert [(row["country"], row["orders"]) for row in run(app, ORDERS).rows("countries")] == [("AT", 1), ("FR", 1)]


def test_an_order_with_a_bad_price_goes_to_quarantine():
    broken = run(app, [b'{"time": "2026-03-01T09:00:10Z", "item": "tea", "price": "four", "pieces": 1}'])
    assert len(broken.rejects["orders"]) == 1
