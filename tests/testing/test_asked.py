"""What ran in memory is asked as a running app is, and answers the same as its rows."""

from __future__ import annotations

import pytest

import tarnbeck as tb
from tarnbeck.errors import UsageError
from tarnbeck.testing import run
from tests.serve.sample import random_events, shop

EVENTS = [
    {name: value for name, value in event.items() if not name.startswith("_")} | {"time": event["time"].isoformat()}
    for event in random_events(200)
]


@pytest.mark.parametrize("view", ["by_time", "by_shop", "total"])
def test_every_view_answers_its_rows(view: str) -> None:
    done = run(shop(), EVENTS)
    answer = done.query(view)
    key = lambda row: str(list(row.items()))  # noqa: E731
    assert sorted(answer.dicts(), key=key) == sorted(done.rows(view), key=key)
    assert str(answer.cut) == "0:200"


def test_views_are_asked_for_less_and_by_sql() -> None:
    done = run(shop(), EVENTS)
    (total,) = done.query("by_time", by="", every="all")
    assert total["orders"] == len(EVENTS)
    assert done.sql("select sum(orders) as n from total").dicts() == [{"n": len(EVENTS)}]
    with done.asked() as client:
        assert {view["view"] for view in client.views()} == {"by_time", "by_shop", "total"}
    with pytest.raises(UsageError, match="unknown view"):
        done.query("nothing")


def test_an_app_without_events_has_no_rows() -> None:
    app = tb.App("empty")
    ticks = app.stream("ticks", "time timestamp, n int", time="time")
    app.view("all", ticks, select={"n": tb.count()})
    assert run(app, []).query("all").dicts() == run(app, []).rows("all")
