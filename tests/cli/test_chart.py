"""Lines drawn with characters."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tarnbeck.cli import chart

VALUES = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=200)


def _dots(row: str) -> int:
    return sum((ord(character) - 0x2800).bit_count() for character in row)


@given(VALUES, st.integers(1, 60), st.integers(1, 20))
def test_a_line_fills_exactly_its_room(values: list[float], width: int, height: int) -> None:
    rows = chart.line([(float(i), value) for i, value in enumerate(values)], width, height)
    assert len(rows) == height
    assert all(len(row) == width and all(0x2800 <= ord(c) <= 0x28FF for c in row) for row in rows)


@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=200), st.integers(1, 60), st.integers(1, 20))
def test_a_line_has_a_dot_in_every_column_from_its_first_to_its_last(
    values: list[float], width: int, height: int
) -> None:
    rows = chart.line([(float(i), value) for i, value in enumerate(values)], width, height)
    for column in range(width):
        cell = 0
        for row in rows:
            cell |= ord(row[column]) - 0x2800
        assert cell & 0b01000111
        assert cell & 0b10111000


def test_a_rising_line_goes_from_the_lower_left_to_the_upper_right() -> None:
    rows = chart.line([(0, 0), (1, 1)], 10, 4)
    assert ord(rows[-1][0]) != 0x2800
    assert ord(rows[0][-1]) != 0x2800
    assert rows[0][0] == rows[-1][-1] == "⠀"


def test_a_flat_line_is_one_dot_thick() -> None:
    rows = chart.line([(float(i), 5.0) for i in range(50)], 20, 5)
    assert sum(_dots(row) for row in rows) == 40


def test_a_gap_in_time_is_as_wide_as_it_was_long() -> None:
    rows = chart.line([(0, 0), (1, 0), (99, 0), (100, 10)], 50, 4)
    assert ord(rows[0][-1]) != 0x2800
    assert all(ord(character) == 0x2800 for character in rows[0][:-2])


def test_no_points_draw_an_empty_chart() -> None:
    assert chart.line([], 3, 2) == ["⠀⠀⠀", "⠀⠀⠀"]
    assert chart.blocks([], 5) == ""


def test_blocks_show_the_newest_values_only() -> None:
    assert chart.blocks([100, 1, 2, 3], 3) == "▁▅█"


def test_marks_go_from_the_highest_value_to_the_lowest() -> None:
    assert chart.marks([(0, 10), (1, 20)], 3) == [20, 15, 10]
