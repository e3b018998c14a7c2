"""Rules over views and over the node: when they fire, what is told, and what a restart changes, which is nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tarnbeck as tb
from tarnbeck.alert import layer
from tarnbeck.errors import UsageError
from tarnbeck.plan.definition import of_stream
from tarnbeck.serve.answer import Question, answer
from tests.alert.shop import Watched, busy


def states(found: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(each["state"], each["keys"].get("item", "")) for each in found]


def test_a_condition_that_holds_long_enough_fires_once_and_is_resolved_once(tmp_path: Path) -> None:
    shop = Watched(tmp_path, lambda app: busy(app, lasting="5 seconds"))
    shop.order("pear", 5)
    shop.tick()
    assert shop.shown()["rules"][0]["state"] == "inactive"
    shop.order("pear", 6)
    shop.order("plum", 3)
    shop.tick()
    (rule,) = shop.shown()["rules"]
    assert (rule["state"], [key["keys"] for key in rule["keys"]]) == ("pending", [{"item": "pear"}])
    shop.tick(4)
    assert shop.told() == []
    shop.tick(10)
    assert states(shop.told()) == [("firing", "pear")]
    shop.order("pear", 1, minute=1)
    shop.tick(60)
    assert states(shop.told()) == [("firing", "pear"), ("resolved", "pear")]
    assert shop.shown()["rules"][0]["state"] == "inactive"


def test_a_notice_says_what_was_found_where_and_at_which_cut(tmp_path: Path) -> None:
    shop = Watched(tmp_path, busy)
    shop.order("pear", 20)
    shop.tick()
    (told,) = shop.told()
    (row,) = answer(shop.store, Question("by_time", {"item": "pear"}, per="minute")).dicts()
    assert told == {
        "id": told["id"],
        "app": "shop",
        "rule": "busy",
        "state": "firing",
        "on": "view by_time",
        "when": "pieces > 10",
        "since": "2026-03-01T10:00:01Z",
        "at": "2026-03-01T10:00:01Z",
        "times": 1,
        "gone": False,
        "keys": {"item": "pear"},
        "window": {"start": "2026-03-01T10:00:00Z", "end": "2026-03-01T10:01:00Z"},
        "values": {"orders": 1, "pieces": "20", "turnover": None, "dearest": None, "last": None, "weight": None},
        "view": "by_time",
        "version": 1,
        "level": "minute",
        "cut": {"topic": "topic-id", "offsets": {"0": 1}},
    }
    assert row["pieces"] == 20


def test_a_restart_in_the_middle_neither_loses_nor_repeats_a_notice(tmp_path: Path) -> None:
    shop = Watched(tmp_path, lambda app: busy(app, lasting="10 seconds", last="1 hour"))
    shop.order("pear", 20)
    shop.tick(5)
    shop.restarted()
    shop.tick(4)
    assert shop.told() == []
    shop.tick(2)
    assert states(shop.told()) == [("firing", "pear")]
    shop.restarted()
    shop.tick(20)
    assert states(shop.told()) == [("firing", "pear")]
    shop.order("pear", 1, minute=0.5)
    shop.restarted()
    shop.order("pear", -15, minute=0.6)
    shop.tick(5)
    assert states(shop.told()) == [("firing", "pear"), ("resolved", "pear")]
    shop.restarted()
    shop.tick(5)
    assert len(shop.told()) == 2


def test_what_was_being_told_when_the_node_ended_is_told_by_the_next(tmp_path: Path) -> None:
    """States and notices are one transaction: a kill between the two can't be."""
    shop = Watched(tmp_path, lambda app: busy(app, tb.to_stream("alerts")))
    shop.order("pear", 20)
    shop.tick()
    shop.restarted()
    assert [notice.rule for notice in shop.store.alerts.waiting("stream alerts", 10)] == ["busy"]


def test_repeats_are_told_only_if_they_are_asked_for(tmp_path: Path) -> None:
    shop = Watched(tmp_path, lambda app: busy(app, every="10 seconds"))
    shop.order("pear", 20)
    shop.tick(25)
    assert [told["at"][-3:-1] for told in shop.told()] == ["01", "11", "21"]
    assert [told["times"] for told in shop.told()] == [1, 2, 3]
    assert len({told["id"] for told in shop.told()}) == 3


def test_a_key_that_falls_silent_is_resolved_when_it_is_no_longer_looked_at(tmp_path: Path) -> None:
    shop = Watched(tmp_path, lambda app: busy(app, last="2 minutes"))
    shop.order("pear", 20)
    shop.tick()
    shop.clock.turn("100 seconds")
    shop.tick()
    assert states(shop.told()) == [("firing", "pear")]
    shop.clock.turn("90 seconds")
    shop.tick()
    assert states(shop.told()) == [("firing", "pear"), ("resolved", "pear")]
    assert (shop.told()[1]["values"]["pieces"], shop.told()[1]["gone"]) == ("20", True)


def test_only_closed_windows_are_judged_where_that_is_asked_for(tmp_path: Path) -> None:
    shop = Watched(tmp_path, lambda app: busy(app, on="close"))
    shop.order("pear", 20)
    shop.tick(5)
    assert shop.told() == []
    shop.clock.turn("1 minute")
    shop.order("plum", 1, minute=1)
    shop.tick()
    assert states(shop.told()) == [("firing", "pear")]


def test_a_view_without_windows_is_judged_by_its_one_value_per_key(tmp_path: Path) -> None:
    shop = Watched(tmp_path, lambda app: app.alert("many", app.views["total"], when="orders >= 2 and item <> 'plum'"))
    for item in ("pear", "plum", "pear", "plum"):
        shop.order(item, 1)
    shop.tick()
    (told,) = shop.told()
    assert (told["keys"], told["window"], told["values"]["orders"]) == ({"item": "pear"}, None, 2)


def test_a_rule_that_can_not_be_looked_after_says_so_and_stands_in_no_others_way(tmp_path: Path) -> None:
    def declare(app: tb.App) -> None:
        busy(app)
        app.alert("gone", app.views["total"], when="orders > 0")

    shop = Watched(tmp_path, declare)
    shop.order("pear", 20)
    shop.store.drop_view("total")
    shop.tick(3)
    assert {rule["rule"]: (rule["error"] or "")[:27] for rule in shop.shown()["rules"]} == {
        "busy": "",
        "gone": "query: unknown view 'total'",
    }
    assert states(shop.told()) == [("firing", "pear")]


def test_a_version_that_lacks_a_column_of_the_condition_is_told(tmp_path: Path) -> None:
    shop = Watched(tmp_path, lambda app: app.view("extra", app.streams["orders"], select={"n": tb.count()}))
    changed = tb.App("shop")
    orders = changed.stream_of(of_stream(shop.app.streams["orders"]))
    view = changed.view("extra", orders, select={"n": tb.count(), "most": tb.max("pieces")})
    changed.alert("most", view, when="most > 3")
    shop.order("pear", 20)
    shop.app.alerts = changed.alerts
    shop.restarted()
    shop.tick()
    (rule,) = shop.shown()["rules"]
    assert rule["error"].startswith("alert 'most': unknown column 'most'")
    assert "version 4 of view 'extra', which answers, has: n" in rule["error"]


def test_more_keys_than_anyone_reads_are_told_as_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layer, "MOST_KEYS", 2)
    shop = Watched(tmp_path, busy)
    for item in ("a", "b", "c", "d"):
        shop.order(item, 20)
    shop.tick(3)
    assert len(shop.told()) == 2
    assert "holds for more than 2 keys" in shop.shown()["rules"][0]["error"]


def test_lag_and_parts_of_the_node_are_judged_once_a_second(tmp_path: Path) -> None:
    def declare(app: tb.App) -> None:
        app.alert("behind", tb.lag(app.streams["orders"]), when="seconds > 30", lasting="3 seconds")
        app.alert("slow", tb.lag(), when="kind = 'view' and records > 100")
        app.alert("down", tb.parts(), when="state in ('failed', 'stopped')")

    shop = Watched(tmp_path, declare)
    lag = {"lag_records": 500, "lag_seconds": 40.0, "stream": "orders"}
    shop.status["streams"] = [{**lag, "lake_cut": "0:5 1:7"}]
    shop.status["views"] = [{**lag, "view": "total", "cut": "0"}]
    part = {"part": "speed", "lag_records": 0, "lag_seconds": 0.0, "rate": 0, "error": "no broker"}
    shop.status["parts"] = [{**part, "state": "running"}]
    shop.tick(3)
    assert [(told["rule"], told["keys"]) for told in shop.told()] == [("slow", {"kind": "view", "name": "total"})]
    shop.status["parts"] = [{**part, "state": "stopped"}]
    shop.tick(3)
    behind = next(told for told in shop.told() if told["rule"] == "behind")
    assert behind["cut"] == {"topic": "topic-id", "offsets": {"0": 5, "1": 7}}
    assert behind["values"] == {"records": 500, "seconds": 40.0}
    down = next(told for told in shop.told() if told["rule"] == "down")
    assert (down["keys"], down["values"]["error"], down["cut"]) == ({"part": "speed"}, "no broker", None)
    shop.status["streams"], shop.status["views"] = [{**lag, "lag_seconds": 0.0, "lake_cut": "0:9"}], []
    shop.tick()
    assert {told["rule"] for told in shop.told() if told["state"] == "resolved"} == {"behind", "slow"}


def test_a_test_notice_tells_what_became_of_it_everywhere(tmp_path: Path) -> None:
    def declare(app: tb.App) -> None:
        busy(app, (tb.to_stream("alerts"), tb.webhook(url_env="NO_SUCH_VARIABLE")))
        app.alert("silent", app.views["total"], when="orders > 0")

    shop = Watched(tmp_path, declare)
    stream, hook = shop.layer.test("busy")
    assert stream == {"destination": "stream alerts", "sent": True, "error": None}
    assert (hook["destination"], hook["sent"]) == ("webhook $NO_SUCH_VARIABLE", False)
    assert hook["error"].startswith("environment variable NO_SUCH_VARIABLE is not set")
    assert [(event["rule"], event["state"]) for event in shop.log.sent] == [("busy", "test")]
    with pytest.raises(UsageError, match="did you mean 'busy'"):
        shop.layer.test("busi")
    with pytest.raises(UsageError, match="it tells nobody"):
        shop.layer.test("silent")
