"""A view's newest windows as a picture for the terminal: a line of one column over time, and a table below it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tarnbeck.cli import chart, show
from tarnbeck.errors import UsageError, unknown

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.text import Text

ROWS = 8
"""Windows in the table below the line."""
MARGIN = 12
"""Characters for the numbers beside the line."""


@dataclass(frozen=True)
class Series:
    """The rows of an answer and which of their columns to draw; the columns before `start` are keys."""

    title: str
    names: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]
    column: str | None = None

    @property
    def keys(self) -> int:
        """How many columns are keys; every column of a view without windows may be one."""
        return self.names.index("start") if "start" in self.names else len(self.names)

    @property
    def drawn(self) -> int | None:
        """The place of the column to draw: the one asked for, else the first number after the window."""
        if self.column is not None:
            if self.column not in self.names:
                raise UsageError(unknown("watch", "column", self.column, self.names[self.keys :], "the view"))
            return self.names.index(self.column)
        places = range(min(self.keys + 2, len(self.names)), len(self.names))
        return next((place for place in places if any(_number(row[place]) is not None for row in self.rows)), None)

    def lines(self) -> dict[tuple[Any, ...], list[tuple[float, float]]]:
        """For each key, the drawn column over time."""
        place = self.drawn
        found: dict[tuple[Any, ...], list[tuple[float, float]]] = {}
        for row in self.rows:
            points = found.setdefault(row[: self.keys], [])
            value = None if place is None else _number(row[place])
            start = row[self.keys] if self.keys < len(row) else None
            if value is not None and isinstance(start, datetime):
                points.append((start.timestamp(), value))
        return found


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float | Decimal) and not isinstance(value, bool) else None


def picture(series: Series, width: int, height: int, footer: Sequence[str] = ()) -> Group:
    """The whole picture, no larger than the terminal: one key as a line, several as a row of blocks each."""
    from rich.console import Group
    from rich.text import Text

    lines = series.lines()
    parts: list[RenderableType] = []
    if "start" in series.names and len(lines) == 1:
        (points,) = lines.values()
        # Title, axis, table head with its rules, a blank line and the footer stand around it.
        tall = max(3, min(16, height - ROWS - 7 - len(footer)))
        parts += [_title(series, points), *_line(points, max(10, width - MARGIN - 2), tall)]
        parts.append(_newest(series))
    elif "start" in series.names and lines:
        parts += [Text(series.title, style="bold"), _latest(series, lines, height - 6 - len(footer))]
    else:
        parts += [Text(series.title, style="bold"), show.table(series.names, series.rows[: height - 6 - len(footer)])]
    if not series.rows:
        parts = [Text(series.title, style="bold"), Text("no windows in this range yet", style="dim")]
    return Group(*parts, *(Text(line, style="dim", overflow="ellipsis", no_wrap=True) for line in footer))


def _title(series: Series, points: chart.Points) -> Text:
    from rich.text import Text

    text = Text(series.title, style="bold")
    if points and series.drawn is not None:
        first, last = points[0][1], points[-1][1]
        text.append(f"   {series.names[series.drawn]} {show.pretty(series.rows[-1][series.drawn])}")
        if first:
            change = (last - first) / abs(first) * 100
            text.append(f"  {'▲' if change >= 0 else '▼'} {abs(change):.2f} %", style=_colour(points))
    return text


def _colour(points: chart.Points) -> str:
    return "green" if points[-1][1] >= points[0][1] else "red"


def _line(points: chart.Points, width: int, height: int) -> list[Text]:
    from rich.text import Text

    if not points:
        return []
    marks = chart.marks(points, height)
    labelled = {0, height // 2, height - 1}
    rows = []
    for place, row in enumerate(chart.line(points, width, height)):
        label = _label(marks[place], marks[0] - marks[-1]) if place in labelled else ""
        rows.append(Text.assemble((f"{label:>{MARGIN}} ", "dim"), (row, _colour(points))))
    first, last = (datetime.fromtimestamp(points[place][0], tz=UTC) for place in (0, -1))
    begin, end = _when(first, last), f"{_when(last, first)} UTC"
    gap = max(1, width - len(begin) - len(end))
    rows.append(Text(" " * (MARGIN + 1) + begin + " " * gap + end, style="dim", no_wrap=True))
    return rows


def _when(moment: datetime, other: datetime) -> str:
    """A time, without the date when the other has the same."""
    return f"{moment:%H:%M:%S}" if moment.date() == other.date() else show.pretty(moment)


def _newest(series: Series) -> RenderableType:
    """The newest windows of the one key, which the title names."""
    newest = list(itertools.islice(reversed(series.rows), ROWS))
    start = series.keys
    times = [_when(row[start], newest[0][start]) for row in newest]
    rows = [(time, *row[start + 2 :]) for time, row in zip(times, newest, strict=True)]
    return show.table((series.names[start], *series.names[start + 2 :]), rows)


def _label(value: float, extent: float) -> str:
    """A number with as many decimals as tell the rows apart.

    >>> _label(58412.337, 40.0), _label(0.1234, 0.01)
    ('58,412.3', '0.1234')
    """
    decimals = 0 if extent <= 0 else max(0, 2 - math.floor(math.log10(extent)))
    return f"{value:,.{min(decimals, 9)}f}"


def _latest(series: Series, lines: dict[tuple[Any, ...], list[tuple[float, float]]], room: int) -> RenderableType:
    """One row per key: its newest window, and the drawn column over time as blocks."""
    start = series.keys
    newest = {row[:start]: row for row in series.rows}
    latest = max(row[start] for row in series.rows)
    rows = []
    for key, row in list(newest.items())[: max(room, 1)]:
        blocks = chart.blocks([value for _, value in lines[key]], 24)
        rows.append((*key, _when(row[start], latest), *row[start + 2 :], blocks))
    drawn = "" if series.drawn is None else series.names[series.drawn]
    return show.table((*series.names[: start + 1], *series.names[start + 2 :], drawn), rows)
