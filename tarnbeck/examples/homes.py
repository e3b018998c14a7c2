"""Who lives where, now and at any moment before: nothing is overwritten, every move is an event."""

import tarnbeck as tb

app = tb.App("homes")

moves = app.stream("moves", "person string, location string, time bigint", time=tb.epoch("time", "s"), key="person")

homes = app.table("homes", moves, key="person", select=["location"])
app.view("living", homes, by="location", select={"people": tb.count()})
app.view("arrivals", moves, by="location", window=tb.rollup("month", "year"), select={"moves": tb.count()})
