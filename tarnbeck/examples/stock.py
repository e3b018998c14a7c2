"""Out of stock, in seconds: what is on the shelves is what was delivered less what was sold."""

import tarnbeck as tb

app = tb.App("stock")

movements = app.stream(
    "movements",
    "time timestamp, receipt string, shop string, item string, kind string, pieces int",
    time="time",
    key="receipt",
)
# A table has one row for each receipt: one that was sent twice counts once.
receipts = app.table("receipts", movements, key="receipt", select=["shop", "item", "kind", "pieces"])
shelves = app.view(
    "shelves",
    receipts,
    by=["item", "shop"],
    select={
        "delivered": tb.sum("pieces", where="kind = 'delivery'"),
        "sold": tb.sum("pieces", where="kind = 'sale'"),
        "left": tb.sum("case when kind = 'delivery' then pieces else 0 - pieces end"),
    },
)
app.alert("short", shelves, when="left < 10", lasting="5 seconds", to=tb.to_stream("alerts"))
# How fast it goes: what is left, divided by this, is when the shelf will be empty.
app.view(
    "pace",
    movements,
    by=["item", "shop"],
    where="kind = 'sale'",
    window=tb.tumbling("1 minute"),
    keep="7 days",
    select={"sold": tb.sum("pieces"), "sales": tb.count()},
)
