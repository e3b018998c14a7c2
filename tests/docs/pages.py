"""Reads the pages of the documentation: their code blocks, and the links and tests that they name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = {
    page.relative_to(ROOT).as_posix(): page
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))
}

_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)(?:#[^)]*)?\)|<img[^>]* src=\"(?!\w+:)([^\"]+)\"")
_TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, the words behind it, its text, and the line where it stands."""

    language: str
    words: tuple[str, ...]
    text: str
    line: int

    @property
    def needs_node(self) -> bool:
        return self.language in ("console", "sql") or "node" in self.words

    @property
    def file(self) -> str | None:
        """The file that the block is the content of, if it names one."""
        return next((word for word in self.words if "." in word), None)


def blocks(page: str) -> list[Block]:
    """All blocks of a page, in order."""
    return blocks_of(PAGES[page].read_text(encoding="utf-8"))


def blocks_of(content: str) -> list[Block]:
    return [_block(found, content) for found in _FENCE.finditer(content)]


def _block(found: re.Match[str], content: str) -> Block:
    language, *words = found["info"].split() or [""]
    return Block(language, tuple(words), found["text"], content.count("\n", 0, found.start()) + 2)


def links(page: str) -> Iterator[Path]:
    """The files of this repository that a page points to."""
    for found in _LINK.finditer(PAGES[page].read_text(encoding="utf-8")):
        yield PAGES[page].parent / (found[1] or found[2])


def named_tests(page: str) -> Iterator[tuple[Path, str | None]]:
    """The tests that a page names: the file, and the function if one is named."""
    for found in _TEST.finditer(PAGES[page].read_text(encoding="utf-8")):
        yield ROOT / found[1], found[2]
