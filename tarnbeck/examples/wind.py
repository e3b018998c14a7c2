"""Wind against emergency calls: the last hour against the last day, and how calls follow the wind."""

import tarnbeck as tb

app = tb.App("wind")

wind = app.stream("wind", "time timestamp, station string, mph double", time="time", key="station")
app.view(
    "speed",
    wind,
    by="station",
    window=tb.tumbling("1 minute"),
    select={"mph": tb.mean("mph"), "gust": tb.max("mph"), "readings": tb.count()},
)
# Filtered by speed: those above 50 mph, and those that are left when they are taken out.
storm = app.derive("storm", wind, where="mph > 50")
moderate = app.derive("moderate", wind, where="mph <= 50")
app.view("storms", storm, by="station", window=tb.tumbling("1 minute"), select={"readings": tb.count()})
app.view("usual", moderate, by="station", select={"readings": tb.count(), "mph": tb.mean("mph")})

calls = app.stream("calls", "time timestamp, station string, kind string", time="time", key="station")
app.view("emergencies", calls, by="station", window=tb.tumbling("1 minute"), select={"calls": tb.count()})
# Every call with the wind that blew at its time.
weather = app.table("weather", wind, key="station", select=["mph"])
called = app.join(
    "calls_in_wind",
    calls,
    weather,
    select={"time": "time", "station": "station", "kind": "kind", "mph": "weather.mph"},
    wait="2 seconds",
)
app.view(
    "calls_by_wind",
    called,
    by={"from_mph": "10 * floor(mph / 10)"},
    select={"calls": tb.count(), "kinds": tb.frequent("kind", 3)},
)
