"""Runs what a page shows after a `$` as a person would at a terminal, and compares what is shown with what came."""

from __future__ import annotations

import fcntl
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

COLUMNS = 100
SERVER = "localhost:8787"
"""Where pages say that the HTTP API is."""

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_VARYING = (
    (re.compile(r"^\d\d:\d\d:\d\d", re.MULTILINE), "TIME"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d\.\d+"), "MOMENT"),
    (re.compile(r"http://[\w.]+:\d+"), "URL"),
    (re.compile(r"127\.0\.0\.1:\d+"), "ADDRESS"),
    (re.compile(r"(?<![\w.:])\d+:\d+(-\d+)?( \d+:\d+(-\d+)?)*(?![\w.:])"), "CUT"),
    (re.compile(r"covers [\d,]+ records"), "covers N records"),
    (re.compile(r"in [\d.]+ s\b"), "in SECONDS s"),
    (re.compile(r"─+"), "─"),
    (re.compile(r"[ \t]+"), " "),
)
"""What differs from run to run, and what stands for it when two texts are compared."""


@dataclass(frozen=True)
class Shown:
    """One command of a console block and the output that the page shows for it."""

    command: str
    output: str


def shown(text: str) -> Iterator[Shown]:
    """The commands of a console block; a line that ends in a backslash goes on in the next."""
    for part in re.split(r"^\$ ", text.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield Shown(command, output)


@dataclass(frozen=True)
class Terminal:
    """A folder to run commands in, and the address that stands for SERVER."""

    folder: Path
    server: str

    def run(self, command: str) -> str:
        """What a pipeline prints on a terminal; there is no shell: only words, quotes and pipes have a meaning."""
        words = [word.replace(SERVER, self.server) for word in shlex.split(command)]
        stages = list(_stages(words))
        given = b""
        for stage in stages[:-1]:
            given = subprocess.run(
                stage, input=given, cwd=self.folder, env=_environment(), stdout=subprocess.PIPE, check=True
            ).stdout
        return _ESCAPES.sub("", on_terminal(stages[-1], self.folder, _environment(), given))


def on_terminal(words: Sequence[str], folder: Path, environment: Mapping[str, str], given: bytes = b"") -> str:
    """Standard output is a terminal, for which tables are drawn; stderr follows, without progress bars."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    with (
        tempfile.TemporaryFile() as told,
        subprocess.Popen(
            words, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=theirs, stderr=told
        ) as process,
    ):
        os.close(theirs)
        assert process.stdin is not None
        process.stdin.write(given)
        process.stdin.close()
        output = b"".join(_read(ours))
        process.wait()
        told.seek(0)
        output += told.read()
    os.close(ours)
    return output.decode().replace("\r\n", "\n")


def _stages(words: Sequence[str]) -> Iterator[list[str]]:
    stage: list[str] = []
    for word in words:
        if word == "|":
            yield stage
            stage = []
        else:
            stage.append(word)
    yield stage


def _environment() -> Mapping[str, str]:
    own = str(Path(sys.executable).parent)
    # A width of pytest's own, which its workers are given, would count for more than the terminal's.
    width = {"COLUMNS": str(COLUMNS)}
    return {**os.environ, **width, "TERM": "xterm", "NO_COLOR": "1", "PATH": f"{own}{os.pathsep}{os.environ['PATH']}"}


def _read(descriptor: int) -> Iterator[bytes]:
    """All that is written to a terminal until its last writer is gone, which Linux tells as an error."""
    while True:
        try:
            chunk = os.read(descriptor, 65536)
        except OSError:
            return
        if not chunk:
            return
        yield chunk


def can_run(command: str) -> bool:
    """Whether this machine has every program of the command."""
    return all(shutil.which(stage[0], path=_environment()["PATH"]) for stage in _stages(shlex.split(command)))


def matches(expected: str, found: str) -> bool:
    """Whether an output is as shown: `...` stands for anything, as do times, addresses and cuts for each other.

    On a line of its own it stands for any lines, or none.

    >>> matches("covers 6 records up to 0:4 1:2", "covers 17 records up to 0:9 1:8")
    True
    >>> matches("tea ... 3", "tea  2026-03-01 4")
    False
    >>> matches("tea 3\\n...", "tea 3")
    True
    """
    lines = re.sub(r"\n\.\.\.$", "...", _settled(expected), flags=re.MULTILINE)
    pieces = [re.escape(piece) for piece in lines.split("...")]
    return re.fullmatch(".*".join(pieces), _settled(found), re.DOTALL) is not None


def _settled(text: str) -> str:
    for pattern, name in _VARYING:
        text = pattern.sub(name, text)
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())
