"""Equipment failure: machines whose vibration leaves what is usual for them, and bearings that run hot."""

import tarnbeck as tb

app = tb.App("machines")

readings = app.stream(
    "readings",
    "time timestamp, machine string, vibration double, temperature double",
    time="time",
    key="machine",
)
health = app.view(
    "health",
    readings,
    by="machine",
    window=tb.tumbling("10 seconds"),
    select={
        "vibration": tb.mean("vibration"),
        "spread": tb.stddev("vibration"),
        "worst": tb.max("vibration"),
        "temperature": tb.mean("temperature"),
        "degrees_per_second": tb.trend("temperature"),
    },
)
app.alert("failing", health, when="temperature > 80", lasting="5 seconds", to=tb.to_stream("alerts"))
# What a controller would listen to, to stop a machine at once.
hot = app.derive(
    "stops", readings, where="temperature > 95", select={"time": "time", "machine": "machine", "reason": "'too hot'"}
)
app.view("stopped", hot, by="machine", select={"readings": tb.count(), "since": tb.min("time")})
