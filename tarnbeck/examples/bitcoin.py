"""Bitcoin prices in several currencies, from several exchanges.

`tarnbeck example bitcoin`, like `tarnbeck demo` and `make demo`, runs this file with a generated feed.
"""

import tarnbeck as tb

app = tb.App("bitcoin")

prices = app.stream(
    "prices",
    "time timestamp, exchange string, currency string, price decimal(18,2), volume double",
    time="time",
    key="currency",
)

app.view(
    "ohlc",
    prices,
    by="currency",
    window=tb.rollup("second", "minute", "hour", "day", "month", "year"),
    select={
        "open": tb.first("price"),
        "high": tb.max("price"),
        "low": tb.min("price"),
        "close": tb.last("price"),
        "trades": tb.count(),
        "spread": "high - low",
    },
)

app.view(
    "volume",
    prices,
    by="exchange",
    window=tb.tumbling("1 minute"),
    select={"volume": tb.sum("volume"), "mean": tb.mean("volume"), "trades": tb.count()},
)

app.view("total", prices, by="currency", select={"trades": tb.count()})
