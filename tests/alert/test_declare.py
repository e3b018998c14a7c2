"""Alerts are checked when they are declared, and nothing that is kept of them is a secret."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

import pytest

import tarnbeck as tb
from tarnbeck.errors import DeclarationError
from tarnbeck.window.duration import HOUR, MINUTE


def house() -> tb.App:
    app = tb.App("house")
    climate = app.stream("climate", "time timestamp, room string, temperature double", time="time")
    select = {"hottest": tb.max("temperature"), "readings": tb.count()}
    app.view("rooms", climate, by="room", window=tb.rollup("minute", "hour"), select=select)
    app.view("ever", climate, by="room", select=select)
    app.view("recent", climate, by="room", window=tb.sliding("1 hour", every="1 minute"), select=select)
    return app


def declared(app: tb.App, view: str = "rooms", **options: Any) -> Any:
    return app.alert("hot", app.views[view], **({"when": "hottest > 60"} | options))


def test_a_rule_is_data_that_says_how_it_is_read() -> None:
    app = house()
    rule = declared(
        app,
        lasting="2 minutes",
        every="10 minutes",
        per="minute",
        to=[tb.webhook("https://example.com/hook/SECRET"), tb.to_stream("alerts")],
    )
    assert app.alerts == {"hot": rule}
    assert rule.definition() == {
        "on": "view rooms",
        "per": "minute",
        "when": "hottest > 60",
        "lasting": "2 minutes",
        "every": "10 minutes",
        "to": ["webhook example.com", "stream alerts"],
    }
    assert "SECRET" not in repr(rule)
    assert "SECRET" not in json.dumps(app.definition())


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            {"when": "hotest > 60"},
            "alert 'hot': unknown column 'hotest'.*\n.*view 'rooms' has: room, start, end, hottest",
        ),
        ({"when": "hottest"}, "alert 'hot': 'hottest': expected boolean, found double"),
        ({"lasting": "soon"}, "alert 'hot': lasting='soon': bad duration"),
        ({"per": "day"}, "alert 'hot': per: unknown level 'day'"),
        ({"on": "never"}, "expected 'change' or 'close'"),
        ({"to": "ops@example.com"}, "expected tb.webhook"),
        ({"view": "ever", "last": "1h"}, "what it looks at has no windows"),
        ({"view": "ever", "on": "close"}, "no windows that close"),
    ],
)
def test_a_wrong_rule_is_refused(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(DeclarationError, match=expected):
        declared(house(), **options)


def test_a_condition_may_reckon_with_exact_sums() -> None:
    app = tb.App("till")
    sales = app.stream("sales", "time timestamp, price decimal(18,2), cost decimal(18,2)", time="time")
    app.view("days", sales, window=tb.rollup("day"), select={"sold": tb.sum("price"), "paid": tb.sum("cost")})
    rule = app.alert("loss", app.views["days"], when="paid - sold > 2 * 100")
    assert rule.when.python()({"paid": Decimal("1000.00"), "sold": Decimal("799.99")}) is True
    assert rule.when.python()({"paid": Decimal("1000.00"), "sold": Decimal("800.00")}) is False


def test_a_rule_looks_back_ten_windows_and_ten_minutes_at_least_or_over_a_sliding_window() -> None:
    looked = [
        declared(house(), view, per=per).last for view, per in (("rooms", None), ("rooms", "hour"), ("recent", None))
    ]
    assert looked == [10 * MINUTE, 10 * HOUR, HOUR]
    assert declared(house(), "ever").last is None
    assert declared(house(), last="5 minutes").last == 5 * MINUTE


def test_a_rule_is_declared_once_and_over_views_of_its_own_app() -> None:
    app = house()
    declared(app)
    with pytest.raises(DeclarationError, match="declared twice"):
        declared(app)
    with pytest.raises(DeclarationError, match="its view is not one of app 'house'"):
        app.alert("other", house().views["rooms"], when="hottest > 60")


def test_notices_go_to_a_stream_that_the_app_then_has() -> None:
    app = house()
    app.alert("hot", app.views["rooms"], when="hottest > 60", to=tb.to_stream("alerts"))
    app.alert("behind", tb.lag(app.streams["climate"]), when="seconds > 30", to=tb.to_stream("alerts"))
    app.view("told", app.streams["alerts"], by=("rule", "state"), select={"n": tb.count()})
    assert [app.streams["alerts"].key, app.streams["alerts"].partitions] == ["rule", 1]
    with pytest.raises(DeclarationError, match="stream 'climate' is another one"):
        app.alert("cold", app.views["rooms"], when="hottest < 0", to=tb.to_stream("climate"))


def test_rules_can_be_about_the_app_itself() -> None:
    app = house()
    rule = app.alert("behind", tb.lag(app.views["rooms"]), when="seconds > 30 or records > 1000")
    assert rule.definition()["on"] == "lag of view rooms"
    assert app.alert("any", tb.lag(), when="kind = 'view' and seconds > 5").definition()["on"] == "lag"
    assert app.alert("down", tb.parts(), when="state <> 'running'").definition()["on"] == "parts"
    with pytest.raises(DeclarationError, match="parts has: part, state, records, seconds, rate, error"):
        app.alert("wrong", tb.parts(), when="status = 'x'")


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: tb.webhook("ftp://example.com"), "expected one with http or https"),
        (lambda: tb.webhook("https:///hook"), "bad URL"),
        (lambda: tb.webhook("https://u:HIDDEN@example.com"), "holds a user or password"),
        (lambda: tb.webhook("https://example.com/HIDDEN\nx"), "bad URL"),
        (lambda: tb.webhook(), "either a URL or url_env"),
        (lambda: tb.webhook("https://a.b", url_env="X"), "either a URL or url_env"),
        (lambda: tb.webhook("http://a.b", headers_env={"Authorization": "TOKEN"}), "without encryption"),
        (lambda: tb.webhook("https://a.b", headers_env={"Authorization": "Bearer HIDDEN"}), "never the secret itself"),
        (lambda: tb.webhook("https://a.b", headers_env={"A b": "TOKEN"}), "bad header"),
        (lambda: tb.webhook("https://a.b", timeout="1h"), "at most a minute"),
        (lambda: tb.email("nobody", server="s", sender="a@b"), "bad address 'nobody'"),
        (lambda: tb.email("a@b\nBcc: c@d", server="s", sender="a@b"), "bad address"),
        (lambda: tb.email((), server="s", sender="a@b"), "goes to no one"),
        (lambda: tb.email("a@b", server="s", sender="a@b", user="u"), "password_env or password_file"),
        (lambda: tb.email("a@b", server="s", sender="a@b", password_env="P"), "together with"),  # noqa: S106
        (
            lambda: tb.email("a@b", server="s", sender="a@b", user="u", password_env="P", security="none"),  # noqa: S106
            "without encryption",
        ),
        (lambda: tb.email("a@b", server="s", sender="a@b", security="ssl"), "unknown security"),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_destination_is_refused_and_no_secret_is_told(make: Any, expected: str) -> None:
    with pytest.raises(DeclarationError, match=expected) as refused:
        make()
    assert "HIDDEN" not in str(refused.value)


def test_two_destinations_that_look_alike_need_names() -> None:
    app = house()
    first, second = tb.webhook("https://example.com/a"), tb.webhook("https://example.com/b")
    app.alert("hot", app.views["rooms"], when="hottest > 60", to=[first, first])
    with pytest.raises(DeclarationError, match=re.escape("another destination is called 'webhook example.com'")):
        app.alert("warm", app.views["rooms"], when="hottest > 30", to=second)
    app.alert("warm", app.views["rooms"], when="hottest > 30", to=tb.webhook("https://example.com/b", name="ops"))
