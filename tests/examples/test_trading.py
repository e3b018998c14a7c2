"""The trading example as it is run: a strategy that follows a view, and fills that can be recounted from the log."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tarnbeck.cli.place import log_of, stream_of
from tarnbeck.examples.strategy import TRADER
from tarnbeck.log import topics
from tarnbeck.log.follow import Earliest, follow
from tarnbeck.serve.client import connect
from tests.waiting import PATIENCE, awaited

Event = dict[str, Any]


def account(folder: Path) -> Event:
    with connect(folder) as client:
        rows = client.query("accounts", trader=TRADER, wait=60).dicts()
    return rows[0] if rows else {"fills": 0}


def events(folder: Path, stream: str) -> list[Event]:
    """What the log holds of a stream, read by hand, with place and arrival."""
    log, topic = log_of(folder), stream_of(folder, stream).topic
    found = []
    for record in follow(log, topic, Earliest(), until=topics.end(log, topic)):
        try:
            event = json.loads(record.value or b"", parse_float=Decimal)
            time = datetime.fromisoformat(event["time"])
            place = {"place": (time, record.partition, record.offset), "received": record.timestamp}
            found.append(event | place | {"time": time, "price": Decimal(event.get("price", 0))})
        except (ValueError, KeyError, TypeError, ArithmeticError):
            assert stream == "prices"  # broken on purpose
    return found


@pytest.mark.demo
def test_a_strategy_trades_and_every_fill_has_the_price_of_its_moment(tmp_path: Path) -> None:
    folder, output = tmp_path / "trading", tmp_path / "out"
    command = [sys.executable, "-m", "tarnbeck.cli.main", "example", "trading", "--folder", str(folder)]
    with output.open("w") as out, subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT) as process:
        try:
            awaited(lambda: " ready: " in output.read_text() or process.poll() is not None, "a node")
            awaited(lambda: process.poll() is not None or account(folder)["fills"] >= 2, "two fills")
            assert process.poll() is None, output.read_text()
            row = account(folder)
            filled = events(folder, "fills")[: row["fills"]]
            orders = {order["time"]: order for order in events(folder, "orders")}
            prices = [price for price in events(folder, "prices") if price["currency"] == "EUR"]
        finally:
            process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)
    said = output.read_text()
    assert process.returncode == 0, said
    assert "nothing lost, nothing twice" in said
    assert said.count("\tequal\t") == 3

    position, cash = Decimal(0), Decimal(10_000)
    for number, fill in enumerate(filled):
        order = orders[fill["time"]]
        assert order["side"] == fill["side"] == ("buy", "sell")[number % 2]
        known = order["received"] + timedelta(seconds=1)
        held = [each for each in prices if each["time"] <= order["time"] and each["received"] <= known]
        assert fill["price"] == max(held, key=lambda each: each["place"])["price"]
        coins = Decimal(order["coins"]) * (1 if order["side"] == "buy" else -1)
        position, cash = position + coins, cash - coins * fill["price"]
    assert (row["position"], row["cash"]) == (position, cash)
