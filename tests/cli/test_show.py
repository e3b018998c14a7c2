"""How values and rows look."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import orjson
import pytest

from tarnbeck.cli import show


def test_json_keeps_every_digit_of_a_decimal() -> None:
    found = orjson.loads(show.as_json({"a": Decimal("12345678901234567.89"), "b": datetime(2026, 1, 31, tzinfo=UTC)}))
    assert found == {"a": "12345678901234567.89", "b": "2026-01-31T00:00:00Z"}


def test_rows_in_a_pipe_are_lines_with_tabs(capsys: pytest.CaptureFixture[str]) -> None:
    show.rows(["a", "b"], [(1, "x\ty"), (None, date(2026, 1, 31))])
    assert capsys.readouterr().out == "a\tb\n1\tx\\ty\n\t2026-01-31\n"
