"""Lines drawn with characters: a chart of braille dots over time, and a row of blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

Points = Sequence[tuple[float, float]]
"""(time, value), in the order of time."""

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_BLANK = 0x2800
_BLOCKS = "▁▂▃▄▅▆▇█"


def line(points: Points, width: int, height: int) -> list[str]:
    """Rows of text, the highest first, that show the points as one line; each character holds 2 x 4 dots.

    >>> line([(0, 0), (1, 1)], 2, 1)
    ['⡠⠊']
    """
    cells = [[0] * width for _ in range(height)]
    for x, low, high in _strokes(points, width * 2, height * 4):
        for dot in range(low, high + 1):
            cells[height - 1 - dot // 4][x // 2] |= _DOTS[3 - dot % 4][x % 2]
    return ["".join(chr(_BLANK | cell) for cell in row) for row in cells]


def blocks(values: Sequence[float], width: int) -> str:
    """The newest values as one row of blocks.

    >>> blocks([1, 2, 3, 9], 4)
    '▁▂▃█'
    """
    shown = values[-width:]
    if not shown:
        return ""
    low, high = min(shown), max(shown)
    return "".join(_BLOCKS[_scaled(value, low, high, len(_BLOCKS))] for value in shown)


def marks(points: Points, height: int) -> list[float]:
    """The value in the middle of each row of `line`, the highest first."""
    low, high = _range(points)
    step = (high - low) / max(height - 1, 1)
    return [high - step * row for row in range(height)]


def _range(points: Points) -> tuple[float, float]:
    values = [value for _, value in points]
    return (min(values), max(values)) if values else (0.0, 0.0)


def _scaled(value: float, low: float, high: float, steps: int) -> int:
    """The step that a value stands on; a range without extent is drawn in its middle."""
    return steps // 2 if high <= low else min(int((value - low) / (high - low) * steps), steps - 1)


def _strokes(points: Points, columns: int, rows: int) -> Iterator[tuple[int, int, int]]:
    """For each column of dots that the line passes, its lowest and highest dot there."""
    if not points:
        return
    low, high = _range(points)
    begin, end = points[0][0], points[-1][0]
    places = [(_scaled(time, begin, end, columns), _scaled(value, low, high, rows)) for time, value in points]
    x0, y0 = places[0]
    yield x0, y0, y0
    for x1, y1 in places[1:]:
        if x1 == x0:
            yield x0, min(y0, y1), max(y0, y1)
        previous = y0
        for x in range(x0 + 1, x1 + 1):
            y = y0 + round((y1 - y0) * (x - x0) / (x1 - x0))
            # From the dot beside the last one on, so that a steep line has no holes and a flat one no thickness.
            start = previous + (y > previous) - (y < previous)
            yield x, min(start, y), max(start, y)
            previous = y
        x0, y0 = x1, y1
