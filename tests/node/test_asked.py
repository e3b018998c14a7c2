"""Jobs of the work process: everyone sees how far they are, and whoever asked gets an end in any case."""

from __future__ import annotations

from typing import Any

from tarnbeck.node.asked import Asked


def test_updates_reach_whoever_asked_and_whoever_looks() -> None:
    asked = Asked()
    seen: list[list[dict[str, Any]]] = []

    def send(message: dict[str, Any]) -> bool:
        number = message["id"]
        seen.append(asked.going())
        asked.take({"id": number, "view": "total version 2", "step": "replaying"})
        asked.take({"id": number, "view": "total version 2", "step": "1 of 4", "done": 0.25, "left": 3.0})
        seen.append(asked.going())
        asked.take({"id": number, "result": {"versions": []}})
        return True

    job = {"do": "replay", "view": "total", "app": "a whole declaration"}
    steps = [update.get("step") for update in asked.run(send, job)]
    assert steps == ["replaying", "1 of 4", None]
    ((before,), (while_it_ran,)) = seen
    assert (before["job"], before["view"], before["step"], before["done"]) == ("replay", "total", "waiting", None)
    assert while_it_ran["view"] == "total version 2"
    assert (while_it_ran["job"], while_it_ran["done"], while_it_ran["left"]) == ("replay", 0.25, 3.0)
    assert while_it_ran.keys() == {"job", "view", "step", "done", "left", "seconds"}
    assert asked.going() == []


def test_a_job_whose_asker_left_is_still_seen() -> None:
    asked = Asked()

    def send(message: dict[str, Any]) -> bool:
        asked.take({"id": message["id"], "step": "computing"})
        return True

    updates = asked.run(send, {"do": "batch", "views": ["ohlc", "total"]})
    assert next(updates)["step"] == "computing"
    updates.close()  # type: ignore[attr-defined]
    (job,) = asked.going()
    assert (job["job"], job["step"]) == ("batch", "computing")
    asked.take({"id": 1, "result": None})
    assert asked.going() == []


def test_a_job_that_waits_names_its_views() -> None:
    asked = Asked()
    told: list[Any] = []

    def send(message: dict[str, Any]) -> bool:
        told.extend(job["view"] for job in asked.going())
        asked.lost("over")
        return True

    assert [*asked.run(send, {"do": "batch", "views": ["ohlc", "total"]})][-1]["error"]["message"] == "over"
    assert told == ["ohlc, total"]


def test_when_the_work_process_ends_whoever_waits_is_told() -> None:
    asked = Asked()

    def send(message: dict[str, Any]) -> bool:
        asked.take({"id": message["id"], "step": "computing"})
        asked.lost("the work process ended with code -9 and was started again")
        return True

    *_, last = asked.run(send, {"do": "audit"})
    assert last["error"]["message"].startswith("the work process ended")
    assert asked.going() == []


def test_who_asks_while_there_is_no_work_process_is_told_at_once() -> None:
    asked = Asked()
    (last,) = asked.run(lambda _: False, {"do": "audit"})
    assert last["error"]["kind"] == "NotReady"
    assert "ask again" in last["error"]["message"]
    assert asked.going() == []
