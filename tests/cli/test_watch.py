"""What `watch` asks and prints, with a client that answers as it is told."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import Any

import pytest

from tarnbeck.cli import watch
from tarnbeck.cli.watch import Question
from tarnbeck.cut import Cut
from tarnbeck.errors import NotReady
from tarnbeck.schema import types
from tarnbeck.serve.answer import Answer

START = datetime(2026, 1, 31, 12, tzinfo=UTC)
COLUMNS = (("start", types.TIMESTAMP), ("end", types.TIMESTAMP), ("n", types.LONG))


def _answer(offset: int, *counts: int) -> Answer:
    rows = [(START.replace(second=i), START.replace(second=i + 1), count) for i, count in enumerate(counts)]
    cut, origin = Cut.of("t", {0: offset}), Cut.of("t", {})
    return Answer("per_second", 1, COLUMNS, rows, cut, origin, "second", None, None, False)


class Told:
    """Gives these answers one after the other, then the last one for ever."""

    def __init__(self, *answers: Answer | None) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, Any]] = []

    def views(self) -> list[dict[str, Any]]:
        return [{"view": "per_second", "levels": ["second", "day"]}, {"view": "total", "levels": ["all"]}]

    def query(self, view: str, **options: Any) -> Answer:
        self.asked.append(options)
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if found is None:
            raise NotReady("building")
        return found


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "EVERY", 0.001)


def _changes(client: Any, question: Question, seconds: float = 0.2) -> list[Answer | None]:
    return list(watch.changes(watch.looks(client, question, seconds)))


def test_an_answer_comes_only_when_the_cut_has_moved() -> None:
    first, second = _answer(1, 1), _answer(2, 1, 1)
    assert _changes(Told(None, None, first, first, second), Question("per_second")) == [None, first, second]


def test_the_newest_windows_are_asked_for_when_no_range_is_named() -> None:
    told = Told(_answer(1, 1))
    _changes(told, Question("per_second"), 0)
    _changes(told, Question("per_second", per="day"), 0)
    _changes(told, Question("per_second", last="1h"), 0)
    _changes(told, Question("total"), 0)
    assert [asked["last"] for asked in told.asked] == ["2 minutes", "120 days", "1h", None]


def test_watching_ends_when_it_is_told_to() -> None:
    stop = threading.Event()
    client: Any = Told(_answer(1, 1))
    seen = []
    for answer in watch.looks(client, Question("per_second"), None, stop):
        seen.append(answer)
        stop.set()
    assert len(seen) == 1


def test_in_a_pipe_only_rows_that_changed_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    watch.stream(iter([None, _answer(1, 5), _answer(2, 5, 1), _answer(3, 6, 1)]), json=False)
    assert capsys.readouterr().out.splitlines() == [
        "start\tend\tn",
        "2026-01-31T12:00:00Z\t2026-01-31T12:00:01Z\t5",
        "2026-01-31T12:00:01Z\t2026-01-31T12:00:02Z\t1",
        "2026-01-31T12:00:00Z\t2026-01-31T12:00:01Z\t6",
    ]


def test_json_lines_are_printed_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    watch.stream(iter([_answer(1, 5)]), json=True)
    assert capsys.readouterr().out == ('{"start":"2026-01-31T12:00:00Z","end":"2026-01-31T12:00:01Z","n":5}\n')
