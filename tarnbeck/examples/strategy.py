"""A trader: buys when the average of the last seconds rises above that of a longer time, sells when it falls below.

All that it knows comes from views, all that it does is events: it can be stopped and started again.
"""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tarnbeck.serve.client import Client

TRADER, CURRENCY, COINS = "crossing", "EUR", Decimal("0.1")
FAST, SLOW = "5s", "30s"


def decide(fast: float | None, slow: float | None, holding: bool) -> str | None:
    """What to do about two averages, if anything.

    >>> decide(58_410.0, 58_400.0, holding=False), decide(58_410.0, 58_400.0, holding=True)
    ('buy', None)
    """
    if fast is None or slow is None or (fast > slow) == holding:
        return None
    return "sell" if holding else "buy"


def trade(client: Client, stop: threading.Event) -> None:
    """Looks at both averages whenever prices have changed, once a second at most, until told to stop."""
    ordered = account(client)[0]
    with client.live("seconds", currency=CURRENCY, last=FAST, on="1s", heartbeat=0.5) as updates:
        for update in updates.beats():
            if stop.is_set():
                return
            filled, holding = account(client)
            side = decide(*averages(client), holding) if update is not None and filled >= ordered else None
            if side is not None:
                client.send("orders", [order(side, datetime.now(UTC))])
                ordered = filled + 1


def account(client: Client) -> tuple[int, bool]:
    """How many orders were filled, and whether coins are held."""
    for row in client.query("accounts", trader=TRADER, wait=60):
        return row["fills"], row["position"] > 0
    return 0, False


def averages(client: Client) -> tuple[float | None, float | None]:
    """The fast and the slow one, both of one cut."""
    for row in client.query("seconds", currency=CURRENCY, last=FAST, against=SLOW):
        return row["mean"], row["mean_against"]
    return None, None


def order(side: str, now: datetime) -> dict[str, Any]:
    return {"time": now, "trader": TRADER, "currency": CURRENCY, "side": side, "coins": COINS}
