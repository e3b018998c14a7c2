"""The hashtags of the last ten minutes, second by second."""

import tarnbeck as tb

app = tb.App("hashtags")

tags = app.stream("tags", "time timestamp, person string, tag string", time="time", key="tag")

# A window for every second, each put together from 600 stored seconds.
app.view(
    "trending",
    tags,
    by="tag",
    window=tb.sliding("10 minutes", every="1 second"),
    keep="1 day",
    select={"uses": tb.count()},
)
app.view(
    "minutes",
    tags,
    window=tb.tumbling("1 minute"),
    select={"uses": tb.count(), "people": tb.uniques("person"), "often": tb.frequent("tag", 5)},
)
