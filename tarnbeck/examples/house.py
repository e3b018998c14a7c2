"""A house: sensors in five places, a security system, and what should be told to whoever lives there."""

import tarnbeck as tb

app = tb.App("house")

sensors = app.stream(
    "sensors",
    "time timestamp, place string, temperature double, humidity double, pressure double",
    time="time",
    key="place",
)
climate = app.view(
    "climate",
    sensors,
    by="place",
    window=tb.rollup("minute", "hour", "day"),
    select={
        "temperature": tb.mean("temperature"),
        "coldest": tb.min("temperature"),
        "warmest": tb.max("temperature"),
        "humidity": tb.mean("humidity"),
        "pressure": tb.last("pressure"),
    },
)
# The display in the living room shows two rows of it: inside and outside.
app.table("display", sensors, key="place", select=["time", "temperature", "humidity", "pressure"])
damp = app.derive(
    "damp",
    sensors,
    where="place in ('attic', 'crawlspace') and humidity > 80",
    select={"time": "time", "place": "place", "message": "place || ' is damp'"},
)
app.view("dampness", damp, by="message", select={"readings": tb.count(), "newest": tb.max("time")})

security = app.stream("security", "time timestamp, device string, state string", time="time", key="device")
devices = app.table("devices", security, key="device", select=["time", "state"])
alarms = app.derive(
    "alarms",
    security,
    where="state in ('open', 'motion')",
    select={
        "time": "time",
        "device": "device",
        "message": "case when state = 'open' then device || ' open' else device || ' sensor' end",
    },
)
app.view("alarm_counts", alarms, by="message", window=tb.rollup("minute", "day"), select={"alarms": tb.count()})
# Told once when it begins, and once when it is over; tb.webhook and tb.email tell people in the same way.
told = tb.to_stream("alerts")
app.alert("left_open", devices, when="state = 'open'", lasting="10 seconds", to=told)
app.alert("damp", climate, per="minute", when="place = 'crawlspace' and humidity > 80", lasting="10 seconds", to=told)
