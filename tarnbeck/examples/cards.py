"""Card fraud: payments that don't fit the card, and cards that spend in ten minutes what they spend in a week."""

import tarnbeck as tb

app = tb.App("cards")

issued = app.stream(
    "issued", "time timestamp, card string, country string, most decimal(10,2)", time="time", key="card"
)
cards = app.table("cards", issued, key="card", select=["country", "most"])

payments = app.stream(
    "payments",
    "time timestamp, card string, shop string, country string, amount decimal(10,2)",
    time="time",
    key="card",
)
spending = app.view(
    "spending",
    payments,
    by="card",
    window=tb.tumbling("10 minutes"),
    keep="30 days",
    select={
        "payments": tb.count(),
        "spent": tb.sum("amount"),
        "largest": tb.max("amount"),
        "countries": tb.distinct("country"),
    },
)
app.alert("spree", spending, when="spent > 1000", to=tb.to_stream("alerts"))
# Each payment is held against the card as it was at that moment: a rule of single events.
suspicious = app.join(
    "suspicious",
    payments,
    cards,
    where="amount > cards.most or country <> cards.country",
    select={
        "time": "time",
        "card": "card",
        "shop": "shop",
        "amount": "amount",
        "reason": "case when amount > cards.most then 'above its limit' else 'abroad' end",
    },
    wait="2 seconds",
)
app.view("cases", suspicious, by=["card", "reason"], select={"payments": tb.count(), "amount": tb.sum("amount")})
