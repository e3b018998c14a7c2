"""What this app counts; `tarnbeck up` runs it, and README.md says how to go on."""

import tarnbeck as tb

app = tb.App("my_app")

# A stream is one topic of the log. `time` says when an event happened, not when it came: that is what windows go by, so
# an event that comes late is still counted where it belongs. Events with one `key` keep their order.
orders = app.stream(
    "orders",
    "time timestamp, item string, country string, price decimal(10,2), pieces int",
    time="time",
    key="item",
)

# A view is what you want to know. Aggregates are kept for each key and window as states that can be merged: so batch
# and live results fit together exactly, and longer windows cost nothing more. Money is a decimal, because sums of
# doubles depend on their order.
app.view(
    "sales",
    orders,
    by="item",
    window=tb.rollup("minute", "hour", "day"),
    select={
        "orders": tb.count(),
        "pieces": tb.sum("pieces"),
        "turnover": tb.sum("price * pieces"),
        # Computed from the columns above when you ask, so it is right for every window.
        "per_order": "turnover / orders",
    },
)

# Without a window a view counts everything there ever was. `where` keeps out what should not count; it stays in the
# lake, so another view can count it later, from the first event on.
app.view(
    "countries",
    orders,
    by="country",
    where="pieces > 0",
    select={"orders": tb.count(), "items": tb.uniques("item"), "newest": tb.max("time")},
)
