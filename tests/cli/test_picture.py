"""The picture of a view's newest windows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from rich.console import Console

from tarnbeck.cli.picture import Series, picture
from tarnbeck.errors import UsageError

NAMES = ("currency", "start", "end", "close", "trades")
START = datetime(2026, 1, 31, 12, tzinfo=UTC)


def _rows(currency: str, count: int) -> list[tuple[Any, ...]]:
    second = timedelta(seconds=1)
    return [(currency, START + i * second, START + (i + 1) * second, Decimal(i), 1) for i in range(count)]


def _drawn(series: Series, width: int = 100, height: int = 30) -> str:
    console = Console(width=width, height=height, record=True, file=None, quiet=False, force_terminal=False)
    with console.capture() as captured:
        console.print(picture(series, width, height, ["covers 5 events"]))
    return captured.get()


def test_one_key_is_drawn_as_a_line_with_a_table_of_its_newest_windows() -> None:
    text = _drawn(Series("ohlc currency=EUR", NAMES, _rows("EUR", 50), "close"))
    assert "close 49" in text
    assert any(0x2800 < ord(character) <= 0x28FF for character in text)
    assert "12:00:49" in text
    assert "covers 5 events" in text


def test_a_picture_is_never_taller_than_the_terminal() -> None:
    for height in (20, 24, 30, 60):
        text = _drawn(Series("ohlc", NAMES, _rows("EUR", 500), "close"), height=height)
        assert len(text.splitlines()) <= height


def test_several_keys_are_a_row_each_with_their_newest_window() -> None:
    text = _drawn(Series("ohlc", NAMES, _rows("EUR", 10) + _rows("USD", 10), "close"))
    assert sum("12:00:09" in line and "█" in line for line in text.splitlines()) == 2


def test_a_view_without_windows_is_a_plain_table() -> None:
    text = _drawn(Series("total", ("currency", "trades"), [("EUR", 5), ("USD", 1234567)]))
    assert "1,234,567" in text


def test_the_first_number_is_drawn_when_no_column_is_named() -> None:
    assert Series("ohlc", NAMES, _rows("EUR", 3)).drawn == NAMES.index("close")


def test_an_unknown_column_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="unknown column 'clse'") as error:
        _drawn(Series("ohlc", NAMES, _rows("EUR", 3), "clse"))
    assert "did you mean 'close'?" in str(error.value)


def test_no_rows_say_so() -> None:
    assert "no windows in this range yet" in _drawn(Series("ohlc", NAMES, []))


def test_text_from_events_can_not_steer_the_terminal() -> None:
    text = _drawn(Series("total", ("currency", "trades"), [("[red]\x1b[2J", 5)]))
    assert "\x1b" not in text
    assert "[red]" in text
