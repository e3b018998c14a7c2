"""Draws what a command shows on a terminal: `python -m docs.terminal docs/pictures/NAME.svg COMMAND [ARGUMENT...]`.

The command runs on a real pseudo-terminal; several commands are separated by a lone `+`.
"""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pyte
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import MONOKAI
from rich.text import Text

COLUMNS, LINES = 116, 400
BRIGHT = {"default": "default", "brown": "yellow"}
# Rich's own form asks a foreign server for a font: a picture in the docs loads nothing from elsewhere.
FORM = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font: {char_height}px monospace; line-height: {line_height}px; }}
.{unique_id}-title {{ font: bold 18px sans-serif; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""


def main() -> None:
    target, *words = sys.argv[1:]
    screen = pyte.Screen(COLUMNS, LINES)
    stream = pyte.ByteStream(screen)
    for is_end, command in groupby(words, lambda word: word == "+"):
        if not is_end:
            asked = list(command)
            stream.feed(f"\x1b[1;32m$\x1b[0m {' '.join(map(_quoted, asked))}\r\n".encode())
            for chunk in _shown(asked):
                stream.feed(chunk)
    rows = [_row(screen, number) for number in range(screen.cursor.y)]
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True)
        console.print(Text("\n").join(rows))
    Path(target).write_text(console.export_svg(title="tarnbeck", theme=MONOKAI, code_format=FORM, unique_id="terminal"))


def _quoted(word: str) -> str:
    return f'"{word}"' if " " in word else word


def _shown(command: list[str]) -> Iterator[bytes]:
    main_end, other_end = pty.openpty()
    fcntl.ioctl(other_end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
    with subprocess.Popen(command, stdin=other_end, stdout=other_end, stderr=other_end, env=environment):  # noqa: S603
        os.close(other_end)
        try:
            while chunk := os.read(main_end, 65536):
                yield chunk
        except OSError:  # how Linux tells that the other end of a terminal is closed
            pass
    os.close(main_end)


def _row(screen: pyte.Screen, number: int) -> Text:
    cells = [screen.buffer[number][column] for column in range(COLUMNS)]
    text = Text()
    for style, run in groupby(cells, _style):
        text.append("".join(cell.data for cell in run), style)
    text.rstrip()
    return text


def _style(cell: pyte.screens.Char) -> Style:
    return Style(color=_colour(cell.fg), bgcolor=_colour(cell.bg), bold=cell.bold, italic=cell.italics)


def _colour(name: str) -> str:
    named = BRIGHT.get(name, name)
    return f"#{named}" if len(named) == 6 and all(c in "0123456789abcdef" for c in named) else named


if __name__ == "__main__":
    main()
