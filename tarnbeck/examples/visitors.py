"""Who came to which page: people are counted once per page and hour, and once per domain when a question says so."""

import tarnbeck as tb

app = tb.App("visitors")

visits = app.stream("visits", "ip string, url string, time bigint", time=tb.epoch("time", "s"), key="url")

app.view(
    "visitors",
    visits,
    by="url",
    window=tb.rollup("hour", "day"),
    select={"people": tb.uniques("ip"), "views": tb.count()},
)
