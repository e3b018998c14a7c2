"""Live questions: a real server, a real store that changes, and clients that read server-sent events."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping

import pytest

from tarnbeck.plan.definition import identity, of_view
from tarnbeck.serve import live
from tarnbeck.serve.answer import Question
from tarnbeck.serve.changes import POLL, Seen, look
from tarnbeck.store.protocol import Refused, Store
from tarnbeck.store.state import VersionState
from tests.serve.market import Listen, Shop
from tests.serve.sample import TOPIC, to_arrow
from tests.serve.web import Told


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The views that the server looked at, in order."""
    found: list[str] = []

    def counted(store: Store, question: Question) -> Seen:
        found.append(question.view)
        return look(store, question)

    monkeypatch.setattr(live, "look", counted)
    return found


def _orders(told: Told) -> dict[str, tuple[str, int]]:
    return {row["item"]: (timing, row["orders"]) for timing, row in told.rows}


def test_first_everything_then_only_what_changed(market: Shop, listen: Listen) -> None:
    market.orders([("pear", 0, 1), ("plum", 0, 1)])
    stream = listen("/views/total/live")
    assert stream.response.headers["content-type"].startswith("text/event-stream")
    assert stream.response.headers["cache-control"] == "no-store"
    hint, first = stream.next(), stream.update()
    assert hint == Told({"retry": "1000"})
    assert _orders(first) == {"pear": ("early", 1), "plum": ("early", 1)}
    assert first.data["reset"] is True
    assert [row["pieces"] for _, row in first.rows] == ["1", "1"]
    assert first.id == {"version": market.store.aliases()["total"], "topic": TOPIC, "offsets": {"0": 2}}
    market.order("plum")
    second = stream.update()
    assert _orders(second) == {"plum": ("early", 2)}
    assert second.data["cut"]["offsets"] == {"0": 3}
    assert (second.data["reset"], second.data["removed"]) == (False, [])
    assert "columns" in first.data
    assert "columns" not in second.data


def test_a_change_of_other_keys_tells_nothing(market: Shop, listen: Listen) -> None:
    market.order("pear")
    stream = listen("/views/total/live?item=pear&heartbeat=0.3")
    assert stream.update().id["offsets"] == {"0": 1}
    market.order("plum")
    while "id" not in (beat := stream.next() or Told({})).fields or beat.id["offsets"] != {"0": 2}:
        assert "data" not in beat.fields
    market.order("pear")
    assert _orders(stream.update()) == {"pear": ("early", 2)}


def test_a_client_that_comes_again_goes_on_where_it_was(market: Shop, listen: Listen) -> None:
    market.orders([("pear", 0, 1), ("plum", 0, 1)])
    stream = listen("/views/total/live")
    first = stream.update()
    stream.close()
    market.order("pear")
    market.order("apple")
    again = listen("/views/total/live", first.fields["id"]).update()
    assert again.data["reset"] is False
    assert _orders(again) == {"apple": ("early", 1), "pear": ("early", 2)}
    unknown = listen("/views/total/live", '{"version":1,"topic":"x","offsets":{}}').update()
    assert unknown.data["reset"] is True
    assert len(unknown.rows) == 3


def test_windows_are_early_then_on_time_then_late(market: Shop, listen: Listen) -> None:
    market.order("pear", minute=0)
    stream = listen("/views/by_time/live?per=minute")

    def told() -> list[tuple[str, int, str, int]]:
        minutes = [
            (row["item"], int(row["start"][14:16]), timing, row["orders"]) for timing, row in stream.update().rows
        ]
        return sorted(minutes)

    assert told() == [("pear", 0, "early", 1)]
    market.order("plum", minute=2)
    assert told() == [("pear", 0, "on time", 1), ("plum", 2, "early", 1)]
    market.order("pear", minute=0)
    assert told() == [("pear", 0, "late", 2)]


def test_on_close_tells_only_closed_windows(market: Shop, listen: Listen) -> None:
    market.order("pear", minute=0)
    stream = listen("/views/by_time/live?on=close")
    assert stream.update().rows == []
    market.order("pear", minute=0)
    market.order("plum", minute=1)
    closed = stream.update()
    assert [(timing, row["item"], row["orders"]) for timing, row in closed.rows] == [("on time", "pear", 2)]
    assert closed.data["closed"] == "2026-03-01T10:01:00Z"


def test_a_trigger_by_the_clock_gathers_changes(market: Shop, listen: Listen) -> None:
    stream = listen("/views/total/live?on=500ms")
    assert stream.update().rows == []
    for _ in range(3):
        market.order("pear")
    seen = 0
    while seen < 3:
        ((_, row),) = stream.update().rows
        assert row["orders"] > seen
        seen = row["orders"]


def test_rows_that_leave_are_told(market: Shop, listen: Listen) -> None:
    market.orders([("pear", 0, 1), ("plum", 0, 1), ("plum", 0, 1)])
    stream = listen("/views/total/live?top=orders&limit=1")
    assert _orders(stream.update()) == {"plum": ("early", 2)}
    market.orders([("pear", 0, 1), ("pear", 0, 1)])
    second = stream.update()
    assert _orders(second) == {"pear": ("early", 3)}
    assert second.data["removed"] == [{"item": "plum"}]


def _publish(market: Shop, version: VersionState) -> None:
    view = market.app.views[version.view]
    building = market.store.begin_generation(version.id, view.layout, version.cut, None)
    assert not isinstance(building, Refused)
    building.write(to_arrow(view, market.events))
    building.seal()
    market.store.publish(building, leap=False)


def test_another_version_begins_anew(market: Shop, listen: Listen) -> None:
    market.order("pear")
    stream = listen("/views/total/live")
    before = stream.update()
    view = market.app.views["total"]
    made = market.store.add_view("total", "orders", json.dumps(of_view(view)), identity(view), view.layout)
    _publish(market, made)
    market.store.switch({"total": made.id})
    after = stream.update()
    assert (after.data["version"], after.data["reset"]) == (made.id, True)
    assert after.rows == before.rows


def test_a_view_that_is_building_is_waited_for(market: Shop, listen: Listen) -> None:
    market.order("pear")
    view = market.app.views["total"]
    market.store.drop_view("total")
    made = market.store.add_view("total", "orders", json.dumps(of_view(view)), identity(view), view.layout)
    stream = listen("/views/total/live?on=1h&heartbeat=0.1")
    assert [stream.next(), stream.next()] == [Told({"retry": "1000"}), Told({"": ""})]
    _publish(market, made)
    assert _orders(stream.update()) == {"pear": ("early", 1)}


def test_a_view_that_is_gone_ends_the_stream_with_the_reason(market: Shop, listen: Listen) -> None:
    stream = listen("/views/total/live")
    stream.update()
    market.store.drop_view("total")
    last = stream.update()
    assert last.fields["event"] == "failure"
    assert "unknown view 'total'" in last.data["error"]["message"]
    assert stream.next() is None


def test_many_subscribers_share_one_computation(market: Shop, listen: Listen, looks: list[str]) -> None:
    market.order("pear")
    streams = [listen("/views/total/live?item=pear&on=change") for _ in range(200)]
    assert all(_orders(stream.update()) == {"pear": ("early", 1)} for stream in streams)
    assert looks == ["total"]
    market.order("pear")
    assert all(_orders(stream.update()) == {"pear": ("early", 2)} for stream in streams)
    assert looks == ["total", "total"]


def test_only_the_same_question_is_shared(market: Shop, listen: Listen, looks: list[str]) -> None:
    market.order("pear")
    for path in ("by=item&by=shop", "by=shop&by=item", "by=item&by=shop", "by=shop&limit=5&by=item"):
        told = listen(f"/views/by_shop/live?{path}").update().data
        keys = [column["name"] for column in told["columns"][:2]]
        assert keys == [each.removeprefix("by=") for each in path.split("&") if each.startswith("by=")]
    assert len(looks) == 3


def test_a_slow_reader_gets_the_newest_state_and_no_queue(market: Shop, listen: Listen, looks: list[str]) -> None:
    market.many_orders()
    stream = listen("/views/total/live", buffer=4096)
    stream.update()
    commits = 30
    for _ in range(commits):
        market.many_orders()
    taken = len(looks)
    known: dict[str, int] = {}
    updates = 0
    while commits + 1 not in known.values():
        known |= {row["item"]: row["orders"] for _, row in stream.update().rows}
        updates += 1
    assert set(known.values()) == {commits + 1}
    # What was computed was sent; nothing was computed for a reader that did not read.
    assert updates < commits
    assert taken <= updates + 1


def test_the_end_of_the_server_is_the_end_of_streams(
    market: Shop, listen: Listen, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    market.many_orders()
    stream, stuck = listen("/views/total/live?limit=1"), listen("/views/total/live", buffer=4096)
    stream.update()
    for _ in range(20):
        market.many_orders()
    market.server.stop()
    while (told := stream.next()) is not None:
        assert "event" not in told.fields
    assert "graceful shutdown exceeded" not in caplog.text
    assert stuck.response.status == 200


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/views/total/live?on=soon", 400, "bad trigger 'soon'"),
        ("/views/total/live?on=close", 400, "never closes"),
        ("/views/by_time/live?every=all&on=close", 400, "never closes"),
        ("/views/total/live?wait=5", 400, "waits by itself"),
        ("/views/total/live?limit=10001", 400, "at most 10,000 rows"),
        ("/views/total/live?heartbeat=0", 400, "bad heartbeat"),
        ("/views/total/live?itm=pear", 400, "did you mean 'item'"),
        ("/views/totl/live", 404, "did you mean 'total'"),
    ],
)
def test_a_wrong_question_is_refused_as_ever(listen: Listen, path: str, status: int, words: str) -> None:
    response = listen(path).response
    assert response.status == status
    assert words in json.loads(response.read())["error"]["message"]


def test_there_is_room_for_so_many_and_no_more(market: Shop, listen: Listen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MOST", 1)
    first = listen("/views/total/live?heartbeat=0.1")
    first.update()
    refused = listen("/views/by_time/live").response
    assert refused.status == 503
    assert "there are 1 subscribers already" in json.loads(refused.read())["error"]["message"]
    first.close()
    pause = threading.Event()
    while listen("/views/by_time/live").response.status == 503:
        pause.wait(POLL)


def test_without_subscribers_the_store_is_left_alone(
    market: Shop, listen: Listen, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    versions = market.store.versions

    def counted() -> Mapping[int, VersionState]:
        asked.append("versions")
        return versions()

    monkeypatch.setattr(market.store, "versions", counted)
    stream = listen("/views/total/live?heartbeat=0.1")
    stream.update()
    stream.close()
    pause = threading.Event()
    while asked and (before := len(asked)) and (pause.wait(3 * POLL) or len(asked) > before):
        pass
    before = len(asked)
    assert listen("/healthz").response.status == 200
    assert len(asked) == before > 0
