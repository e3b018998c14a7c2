"""Trading with play money: strategy.py, a program beside it, reads prices and sends orders; the exchange is a join.

An order is filled at the price of its own moment, which nobody can know when the order is placed.
"""

import tarnbeck as tb

app = tb.App("trading")

prices = app.stream(
    "prices",
    "time timestamp, exchange string, currency string, price decimal(12,2), volume double",
    time="time",
    key="currency",
)
app.view(
    "seconds",
    prices,
    by="currency",
    window=tb.tumbling("1 second"),
    select={"mean": tb.mean("price"), "close": tb.last("price"), "trades": tb.count()},
)
quotes = app.table("quotes", prices, key="currency", select=["price"])

orders = app.stream(
    "orders",
    "time timestamp, trader string, currency string, side string, coins decimal(8,4)",
    time="time",
    key="trader",
)
fills = app.join(
    "fills",
    orders,
    quotes,
    on="currency",
    where="quotes.price is not null",
    select={
        "time": "time",
        "trader": "trader",
        "side": "side",
        "coins": "case when side = 'buy' then coins else 0 - coins end",
        "price": "quotes.price",
    },
    wait="1 second",
)
app.view(
    "accounts",
    fills,
    by="trader",
    select={
        "fills": tb.count(),
        "position": tb.sum("coins"),
        "spent": tb.sum("coins * price"),
        "cash": "10000 - cast(spent as decimal(20,6))",
        "price": tb.last("price"),
        "worth": "cast(cash as double) + cast(position as double) * price",
    },
)
