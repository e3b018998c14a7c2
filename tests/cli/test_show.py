"""How values and rows look."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import orjson
import pytest
from rich.console import Console

from tarnbeck.cli import show


def test_json_keeps_every_digit_of_a_decimal() -> None:
    found = orjson.loads(show.as_json({"a": Decimal("12345678901234567.89"), "b": datetime(2026, 1, 31, tzinfo=UTC)}))
    assert found == {"a": "12345678901234567.89", "b": "2026-01-31T00:00:00Z"}


def test_rows_in_a_pipe_are_lines_with_tabs(capsys: pytest.CaptureFixture[str]) -> None:
    show.rows(["a", "b"], [(1, "x\ty"), (None, date(2026, 1, 31))])
    assert capsys.readouterr().out == "a\tb\n1\tx\\ty\n\t2026-01-31\n"


def test_a_table_never_cuts_a_number_off_however_narrow_the_terminal() -> None:
    row = ("EUR", datetime(2026, 1, 31, tzinfo=UTC), Decimal("58714.05"), 1234567, "a reason that is told at length")
    console = Console(width=40)
    with console.capture() as captured:
        show.draw(console, show.table(["currency", "start", "high", "trades", "why"], [row]))
    for text in ("EUR", "2026-01-31 00:00:00", "58,714.05", "1,234,567", "length"):
        assert text in captured.get()


def test_a_spare_column_is_for_programs_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    show.rows(["start", "end"], [("a", "b")], spare="end")
    assert capsys.readouterr().out == "start\tend\na\tb\n"
    monkeypatch.setattr(show, "terminal", lambda: True)
    show.rows(["start", "end"], [("a", "b")], spare="end")
    assert "end" not in capsys.readouterr().out
