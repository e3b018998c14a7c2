"""How values, rows and cuts look: tables on a terminal, tab-separated lines in a pipe, JSON when asked for."""

from __future__ import annotations

import base64
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import typer

from tarnbeck.cut import Cut, Span

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


TEXT_ROOM = 12
"""Characters that a text keeps on a narrow terminal."""


def terminal() -> bool:
    """Whether a person reads the output."""
    return sys.stdout.isatty()


def console() -> Console:
    """Standard output as rich draws on it."""
    from rich.console import Console

    return Console(highlight=False)


def say(line: str) -> None:
    # Not by typer.echo, which writes past the stand-in that keeps lines and a live display apart.
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def note(line: str) -> None:
    """Something for the person, not for the pipe."""
    typer.echo(line, err=True)


def remark(line: str) -> None:
    """Something about the data: below it on a terminal, beside it in a pipe."""
    (say if terminal() else note)(line)


def data(content: bytes) -> None:
    """Prints data as it is, ended by a line end."""
    typer.echo(content, nl=not content.endswith(b"\n"))


def plain(value: Any) -> str:
    """A value as text that loses nothing: what pipes get.

    >>> plain(Decimal("1.50")), plain(None), plain(datetime(2026, 1, 31, 12, tzinfo=UTC))
    ('1.50', '', '2026-01-31T12:00:00Z')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Decimal):
        return format(value, "f")
    return as_json(value) if isinstance(value, list | dict) else str(value)


def pretty(value: Any) -> str:
    """A value as a person likes to read it.

    >>> pretty(1234567), pretty(Decimal("58400.10")), pretty(0.1 + 0.2), pretty(None)
    ('1,234,567', '58,400.10', '0.3', '·')
    >>> pretty([{"value": "tea", "count": 1200}, {"value": "honey", "count": 3}])
    'tea 1,200, honey 3'
    """
    if isinstance(value, list):
        return ", ".join(pretty(each) for each in value)
    if isinstance(value, dict):
        return " ".join(pretty(each) for each in value.values())
    if value is None:
        return "·"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | Decimal):
        return format(value, ",f") if isinstance(value, Decimal) else f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.10g}"
    if isinstance(value, datetime):
        return plain(value).replace("T", " ").removesuffix("Z")
    return plain(value)


def table(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Table:
    """A rich table; numbers stand to the right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    found = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    taken = [list(row) for row in rows]
    texts = [[printable(pretty(value)) for value in row] for row in taken]
    for place, name in enumerate(names):
        number = any(isinstance(row[place], int | float | Decimal) for row in taken)
        whole = number or any(isinstance(row[place], datetime) for row in taken)
        # A number that lost its last digits is another number: only texts give way where there is little room.
        widest = max((len(row[place]) for row in texts), default=0)
        room = max(len(name), widest) if whole else min(widest, TEXT_ROOM)
        found.add_column(name, justify="right" if number else "left", no_wrap=whole, min_width=room)
    for row in texts:
        # What stands in events is data: rich must not read markup in it.
        found.add_row(*(Text(text) for text in row))
    return found


def draw(console: Console, shown: Table) -> None:
    """Prints a table, wider than the terminal rather than with columns left out."""
    needed = console.measure(shown, options=console.options.update(max_width=10_000)).minimum
    console.width = max(console.width, needed)
    console.print(shown, crop=False)


def printable(text: str) -> str:
    """Text that can't steer the terminal.

    >>> printable("a\\x1b[2Jb")
    'a\\\\x1b[2Jb'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def rows(names: Sequence[str], found: Iterable[Sequence[Any]], spare: str | None = None) -> None:
    """Prints rows: a table, without the `spare` column, for a person; lines with tabs under a header for a program."""
    if terminal():
        kept = [place for place, name in enumerate(names) if name != spare]
        shown = table([names[place] for place in kept], ([row[place] for place in kept] for row in found))
        draw(console(), shown)
        return
    say("\t".join(names))
    for row in found:
        say("\t".join(printable(plain(value)) for value in row))


def as_json(value: Any) -> str:
    """One line of JSON; decimals are strings, for a JSON number may lose their digits."""
    import orjson

    return orjson.dumps(value, default=plain, option=orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS).decode()


def covers(origin: Cut, cut: Cut) -> str:
    """The line that says what an answer holds.

    >>> covers(Cut.of("t", {}), Cut.of("t", {0: 617, 1: 617}))
    'covers 1,234 records up to 0:617 1:617'
    """
    return f"covers {Span(origin, cut).records:,} records up to {cut}"


def kept(view: str, since: int) -> str:
    """The line that says that a question reached further back than a view keeps.

    >>> kept("clicks", 86_400_000_000)
    "view 'clicks' keeps windows from 1970-01-02T00:00:00Z on; what was asked for before that is left out"
    """
    moment = plain(datetime.fromtimestamp(since // 1_000_000, UTC).replace(microsecond=since % 1_000_000))
    return f"view '{view}' keeps windows from {moment} on; what was asked for before that is left out"


def size(count: float) -> str:
    """Bytes as a person reads them.

    >>> size(512), size(1536), size(3 * 1024**3)
    ('512 B', '1.5 KiB', '3.0 GiB')
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
