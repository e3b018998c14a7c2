"""Declarations: what is wrong is refused at once, with the place, what was expected and what to do."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import tarnbeck as tb
from tarnbeck.plan.definition import identity
from tarnbeck.schema.stream import Stream

SCHEMA = (
    "time timestamp, exchange string, currency string, price decimal(18,2), volume double, tags map<string, string>"
)


def declared() -> tuple[tb.App, Stream]:
    app = tb.App("bitcoin")
    return app, app.stream("prices", SCHEMA, time="time", key="currency")


def test_an_unknown_column_is_named_with_the_nearest_one() -> None:
    app, prices = declared()
    with pytest.raises(tb.TarnbeckError) as refused:
        app.view("ohlc", prices, select={"open": tb.first("prise")})
    text = str(refused.value)
    assert "view 'ohlc'" in text
    assert "unknown column 'prise'" in text
    assert "stream 'prices' has: time, exchange, currency, price, volume, tags" in text
    assert "did you mean 'price'?" in text


Wrong = Callable[[tb.App, Stream], object]
MISTAKES: dict[str, tuple[Wrong, str]] = {
    "view twice": (lambda a, s: [a.view("v", s, select={"n": tb.count()}) for _ in range(2)], "declared twice"),
    "stream twice": (lambda a, _: a.stream("prices", SCHEMA, time="time"), "declared twice"),
    "history of what nobody reads": (
        lambda a, _: a.stream("old", SCHEMA, time="time", history=["a/*.csv", "data/*"]),
        r"stream 'old': history: can't read 'data/\*'\n  expected names that end in: .parquet, .csv, .csv.gz",
    ),
    "history without a time": (
        lambda a, _: a.stream("old", SCHEMA, time=tb.arrival(), history="*.csv"),
        "rows of a file have no time of arrival\n  say which column",
    ),
    "bad name": (lambda a, s: a.view("My View", s, select={"n": tb.count()}), "bad name"),
    "where not a condition": (
        lambda a, s: a.view("v", s, where="price", select={"n": tb.count()}),
        "expected boolean, found decimal",
    ),
    "sum of text": (lambda a, s: a.view("v", s, select={"n": tb.sum("currency")}), "expected a number, found string"),
    "key of many values": (lambda a, s: a.view("v", s, by="tags", select={"n": tb.count()}), "expected a single value"),
    "nothing selected": (lambda a, s: a.view("v", s, select={}), "at least one aggregate"),
    "only expressions": (lambda a, s: a.view("v", s, select={"x": "1 + 1"}), "at least one aggregate"),
    "derived before measured": (
        lambda a, s: a.view("v", s, select={"spread": "high - 1", "high": tb.max("price")}),
        "unknown column 'high'",
    ),
    "key and output": (lambda a, s: a.view("v", s, by="currency", select={"currency": tb.count()}), "rename one"),
    "reserved name": (lambda a, s: a.view("v", s, select={"start": tb.count()}), "bad column name"),
    "computed key without a name": (
        lambda a, s: a.view("v", s, by="upper(currency)", select={"n": tb.count()}),
        "needs a name",
    ),
    "key named twice": (lambda a, s: a.view("v", s, by=["currency", "currency"], select={"n": tb.count()}), "twice"),
    "stream of another app": (lambda _, s: tb.App("other").view("v", s, select={"n": tb.count()}), "not a stream of"),
    "unknown time column": (lambda a, _: a.stream("s", SCHEMA, time="tyme"), "did you mean 'time'"),
    "time of a wrong type": (lambda a, _: a.stream("s", "at bigint", time="at"), r"tb.epoch\('at', 's'\)"),
    "unknown key column": (lambda a, _: a.stream("s", SCHEMA, time="time", key="curency"), "did you mean 'currency'"),
    "unknown zone": (lambda a, _: a.stream("s", SCHEMA, time="time", zone="Europe/Wien"), "unknown time zone"),
    "bad topic": (lambda a, _: a.stream("s", SCHEMA, time="time", topic="no spaces"), "bad topic"),
    "no partitions": (lambda a, _: a.stream("s", SCHEMA, time="time", partitions=0), "bad number of partitions"),
    "unknown unit": (lambda a, _: tb.epoch("at", "weeks"), "expected one of: s, ms, us, ns"),  # type: ignore[arg-type]
    "wide sum": (
        lambda a, _: a.view("v", a.stream("s", "t timestamp, x decimal(38,2)", time="t"), select={"n": tb.sum("x")}),
        "at most 30 digits",
    ),
    "a text for a window": (
        lambda a, s: a.view("v", s, window="1 minute", select={"n": tb.count()}),  # type: ignore[arg-type]
        r"^view 'v': window='1 minute': it is no window\n  write window=tb.tumbling\('1 minute'\)$",
    ),
    "a kind of window": (
        lambda a, s: a.view("v", s, window=tb.all_time, select={"n": tb.count()}),  # type: ignore[arg-type]
        r"it is no window\n  write window=tb.tumbling\('1 minute'\), tb.all_time\(\) or another one$",
    ),
    "a number for a length": (
        lambda a, s: tb.tumbling(60),  # type: ignore[arg-type]
        r"^tumbling\(60\): bad duration 60\n  expected a number and a unit .* such as '10 minutes' or '1h'$",
    ),
    "a timedelta for a length": (
        lambda a, s: tb.sliding(timedelta(hours=1), every="1m"),  # type: ignore[arg-type]
        r"bad duration datetime.timedelta\(seconds=3600\)\n  write it as a text: '1 hour'$",
    ),
    "a timedelta too fine": (
        lambda a, s: tb.session(timedelta(microseconds=7)),  # type: ignore[arg-type]
        "bad duration .*\n  expected a number and a unit",
    ),
    "a timedelta to keep": (
        lambda a, s: a.view("v", s, window=tb.tumbling("1m"), keep=timedelta(1), select={"n": tb.count()}),  # type: ignore[arg-type]
        r"^view 'v': keep=datetime.timedelta\(days=1\): bad duration .*\n  write it as a text: '1 day'$",
    ),
    "no time to keep": (
        lambda a, s: a.view("v", s, window=tb.tumbling("1m"), keep=timedelta(), select={"n": tb.count()}),  # type: ignore[arg-type]
        "^view 'v': keep=.*: bad duration",
    ),
    "a timedelta for late": (
        lambda a, s: a.view("v", s, late=timedelta(1), select={"n": tb.count()}),  # type: ignore[arg-type]
        "^view 'v': late=.*: expected such as 'drop after 1 hour'",
    ),
    "where is no text": (
        lambda a, s: a.view("v", s, where=True, select={"n": tb.count()}),  # type: ignore[arg-type]
        "^view 'v': expected an expression as text, such as 'price > 0', found True$",
    ),
    "where of an aggregate is no text": (
        lambda a, s: a.view("v", s, select={"n": tb.count(where=True)}),  # type: ignore[arg-type]
        "^view 'v': 'n': expected an expression as text, .* found True$",
    ),
    "a number for a column": (
        lambda a, s: a.view("v", s, select={"n": tb.sum(1)}),  # type: ignore[arg-type]
        "^view 'v': 'n': expected an expression as text, .* found 1$",
    ),
    "a number for a key": (
        lambda a, s: a.view("v", s, by=[1], select={"n": tb.count()}),  # type: ignore[list-item]
        "^view 'v': expected an expression as text, .* found 1$",
    ),
    "a number for keys": (
        lambda a, s: a.view("v", s, by=1, select={"n": tb.count()}),  # type: ignore[arg-type]
        "^view 'v': expected an expression as text, .* found 1$",
    ),
    "an aggregate that is not called": (
        lambda a, s: a.view("v", s, select={"n": tb.count}),  # type: ignore[dict-item]
        r"^view 'v': 'n': tb.count is not called\n  write tb.count\(\)$",
    ),
    "an aggregate of a column that is not called": (
        lambda a, s: a.view("v", s, select={"n": tb.count(), "m": tb.mean}),  # type: ignore[dict-item]
        r"^view 'v': 'm': tb.mean is not called\n  write tb.mean\(…\)$",
    ),
    "a class that is not called": (
        lambda a, s: a.view("v", s, select={"n": Widest}),  # type: ignore[dict-item]
        r"^view 'v': 'n': Widest is not called\n  write Widest\(…\)$",
    ),
    "neither aggregate nor expression": (
        lambda a, s: a.view("v", s, select={"n": 1}),  # type: ignore[dict-item]
        "^view 'v': 'n': expected an aggregate or an expression, found 1$",
    ),
}


class Widest(tb.Custom):
    state = "high double"
    returns = "double"

    def prepare(self, *values: Any) -> tuple[Any, ...]:
        return values

    def merge(self, a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
        return max(a, b)

    def finish(self, state: tuple[Any, ...]) -> Any:
        return state[0]


@pytest.mark.parametrize(("mistake", "message"), MISTAKES.values(), ids=list(MISTAKES))
def test_a_mistake_is_refused_when_declared(mistake: Wrong, message: str) -> None:
    app, prices = declared()
    with pytest.raises(tb.TarnbeckError, match=message):
        mistake(app, prices)


def everything() -> tb.App:
    app = tb.App("all")
    stream = app.stream(
        "events", SCHEMA, time="time", zone="Europe/Vienna", key="currency", topic="theirs", create=False
    )
    other = app.stream("numbers", "at bigint, x double", time=tb.epoch("at", "ms"), partitions=3)
    arrived = app.stream("arrived", "x int", time=tb.arrival())
    app.view(
        "rolled",
        stream,
        by={"up": "upper(currency)"},
        where="price > 0",
        select={"n": tb.count()},
        window=tb.rollup("minute", "day", zone="Asia/Kolkata"),
    )
    app.view("tumbled", other, window=tb.tumbling("90 seconds"), select={"m": tb.mean("x"), "double": "m * 2"})
    app.view("whole", arrived, select={"first": tb.first("x"), "last": tb.last("x"), "n": tb.count("x")})
    return app


def test_a_definition_can_be_read_back_to_the_same_application() -> None:
    app = everything()
    again = tb.App.of(app.definition())
    assert again.definition() == app.definition()
    assert again.streams == app.streams
    assert {name: identity(view) for name, view in again.views.items()} == {
        name: identity(view) for name, view in app.views.items()
    }


def test_a_definitions_identity_changes_with_what_decides_its_answers_and_with_nothing_else() -> None:
    def view(schema: str = SCHEMA, where: str = "price > 0", partitions: int = 2) -> str:
        app = tb.App("identity")
        stream = app.stream("prices", schema, time="time", partitions=partitions)
        return identity(app.view("v", stream, where=where, select={"n": tb.count()}))

    assert view() == view(where="PRICE>0".lower()) == view(partitions=5)
    assert view() != view(where="price > 1")
    assert view() != view(schema=SCHEMA.replace("18,2", "18,3"))


def test_measures_that_need_the_same_state_share_it() -> None:
    app, prices = declared()
    view = app.view("v", prices, select={"mean": tb.mean("price"), "sum": tb.sum("price"), "n": tb.count("price")})
    assert len(view.states) == 2


def test_history_is_part_of_a_stream_but_not_of_what_its_views_are() -> None:
    apps = []
    for files in ((), "data/*.parquet", ["a.csv", "b.JSON.gz"]):
        app = tb.App("bitcoin")
        prices = app.stream("prices", SCHEMA, time="time", history=files)
        app.view("n", prices, select={"n": tb.count()})
        apps.append(app)
    assert [app.streams["prices"].history for app in apps] == [(), ("data/*.parquet",), ("a.csv", "b.JSON.gz")]
    assert len({identity(app.views["n"]) for app in apps}) == 1
    for app in apps:
        assert tb.App.of(app.definition()).streams["prices"] == app.streams["prices"]
