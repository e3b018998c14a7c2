"""What `watch` asks and prints, with a client that tells what it is given."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tarnbeck.cli import main, watch
from tarnbeck.cli.watch import Question
from tarnbeck.cut import Cut
from tarnbeck.schema import types
from tarnbeck.serve.answer import Answer
from tarnbeck.serve.changes import History, Seen, Update
from tests.serve.sample import filled, random_events, shop

START = datetime(2026, 1, 31, 12, tzinfo=UTC)
COLUMNS = (("start", types.TIMESTAMP), ("end", types.TIMESTAMP), ("n", types.LONG))


def _seen(offset: int, *counts: int) -> Seen:
    """So many events in each second from the start on; the last second is open."""
    rows = [(START.replace(second=i), START.replace(second=i + 1), count) for i, count in enumerate(counts) if count]
    cut, origin = Cut.of("t", {0: offset}), Cut.of("t", {})
    found = Answer("per_second", 1, COLUMNS, rows, cut, origin, "second", None, None, False)
    return Seen(found, 1, True, rows[-1][0])


def _updates(*states: Seen) -> list[Update]:
    history, known, found = History(), None, []
    for state in states:
        history.take(state)
        update = history.since(known, only_closed=False)
        assert update is not None
        found.append(update)
        known = history.number
    return found


class Asked:
    """A client that remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def views(self) -> list[dict[str, Any]]:
        return [{"view": "per_second", "levels": ["second", "day"]}, {"view": "total", "levels": ["all"]}]

    def live(self, view: str, **options: Any) -> None:
        self.asked.append(options)


def test_the_newest_windows_are_asked_for_when_no_range_is_named() -> None:
    client: Any = Asked()
    for question in (
        Question("per_second"),
        Question("per_second", per="day"),
        Question("per_second", last="1h"),
        Question("total", on="close"),
        Question("per_second", shape={"every": "1 hour"}),
        Question("per_second", shape={"every": "all"}),
        Question("per_second", shape={"cumulative": True}),
        Question("per_second", since="2026-01-31"),
    ):
        watch.watched(client, question, None)
    lasts = ["2 minutes", "120 days", "1h", None, "5 days", None, None, None]
    assert [asked["last"] for asked in client.asked] == lasts
    assert [asked["on"] for asked in client.asked] == ["change"] * 3 + ["close"] + ["change"] * 4
    assert client.asked[-1]["since"] == "2026-01-31"


def test_a_view_is_watched_coarser_than_it_is_stored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    filled(tmp_path / "store", shop(), random_events(100)).close()
    shape = ["--by", "letter=left(item, 1)", "--every", "all", "--having", "orders > 1", "--top", "orders"]
    with pytest.raises(SystemExit) as ended:
        main.main(["watch", "by_time", *shape, "--since", "2026-03-01", "--seconds", "0", "--folder", str(tmp_path)])
    assert ended.value.code == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.split("\t")[:2] == ["letter", "orders"]
    orders = [int(line.split("\t")[1]) for line in lines]
    assert sum(orders) == 100
    assert [line.split("\t")[-1] for line in lines] == ["early"] * len(lines)


def test_in_a_pipe_only_rows_that_changed_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    watch.stream(_updates(_seen(1, 5), _seen(2, 6), _seen(3, 7, 1), _seen(4, 7, 2)), json=False)
    assert capsys.readouterr().out.splitlines() == [
        "start\tend\tn\ttiming",
        "2026-01-31T12:00:00Z\t2026-01-31T12:00:01Z\t5\tearly",
        "2026-01-31T12:00:00Z\t2026-01-31T12:00:01Z\t6\tearly",
        "2026-01-31T12:00:00Z\t2026-01-31T12:00:01Z\t7\ton time",
        "2026-01-31T12:00:01Z\t2026-01-31T12:00:02Z\t1\tearly",
        "2026-01-31T12:00:01Z\t2026-01-31T12:00:02Z\t2\tearly",
    ]


def test_json_lines_say_what_they_cover_and_whether_their_window_was_closed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    watch.stream(_updates(_seen(1, 5), _seen(2, 0, 1)), json=True)
    assert capsys.readouterr().out.splitlines() == [
        '{"row":{"start":"2026-01-31T12:00:00Z","end":"2026-01-31T12:00:01Z","n":5},"timing":"early",'
        '"cut":{"topic":"t","offsets":{"0":1}}}',
        '{"removed":{"start":"2026-01-31T12:00:00Z"},"cut":{"topic":"t","offsets":{"0":2}}}',
        '{"row":{"start":"2026-01-31T12:00:01Z","end":"2026-01-31T12:00:02Z","n":1},"timing":"early",'
        '"cut":{"topic":"t","offsets":{"0":2}}}',
    ]
