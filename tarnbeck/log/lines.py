"""Lines of a file as values to send: JSON lines stay as they are, CSV rows become JSON by the stream's schema."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from tarnbeck.errors import UsageError
from tarnbeck.schema.stream import Stream
from tarnbeck.schema.types import BOOL, DOUBLE, INT, LONG, Array, Decimal, Map, Struct, Type

Format = Literal["json", "csv"]

LONGEST = 1024 * 1024
"""Bytes of the longest event: a longer one would only go to quarantine."""

NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True)
class Line:
    """What one line gives: a value to send, or the reason why it can't be sent."""

    place: str
    value: bytes = b""
    reason: str | None = None


def read(stream: Stream, lines: Iterable[bytes], format: Format = "json") -> Iterator[Line]:  # noqa: A002
    """The values of the lines of a file; blank lines are skipped."""
    reader = FORMATS.get(format)
    if reader is None:
        raise UsageError(f"send: unknown format '{format}'\n  expected one of: {', '.join(FORMATS)}")
    for line in reader(stream, lines):
        too_long = line.reason is None and len(line.value) > LONGEST
        yield Line(line.place, reason="larger than 1 MiB") if too_long else line


def _json(_: Stream, lines: Iterable[bytes]) -> Iterator[Line]:
    for number, line in enumerate(lines, 1):
        if line and not line.isspace():
            yield Line(f"line {number}", line.rstrip(b"\r\n"))


def _csv(stream: Stream, lines: Iterable[bytes]) -> Iterator[Line]:
    """Rows under a header row, which may hold any of the stream's columns and others."""
    # A byte that is not UTF-8 must refuse its own row only, so it is let through here and looked for there.
    reader = csv.reader((line.decode("utf-8", "surrogateescape") for line in lines), strict=True)
    header = columns_of(stream, next(reader, []))
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield Line(f"line {reader.line_num}", reason=f"not CSV: {error}")
            continue
        place = f"line {reader.line_num}"
        if not row:
            continue
        if len(row) != len(header):
            yield Line(place, reason=f"{len(header)} cells expected as in the header, {len(row)} found")
        elif any("\udc80" <= c <= "\udcff" for cell in row for c in cell):
            yield Line(place, reason="not UTF-8")
        else:
            yield Line(place, _object(header, row))


def columns_of(stream: Stream, names: list[str]) -> list[tuple[str, Callable[[str], str]]]:
    """Each column's name in JSON, and what makes its cells JSON."""
    names = [name.removeprefix("\ufeff").strip() for name in names]
    if not names:
        return []
    if "" in names or len(set(names)) != len(names):
        raise UsageError(f"send: the first line must name each column once\n  found: {', '.join(names)}")
    if not set(names) & set(stream.schema.names):
        raise UsageError(
            f"send: the first line names no column of stream '{stream.name}'\n"
            f"  found: {', '.join(names)}\n  the stream has: {', '.join(stream.schema.names)}"
        )
    return [(json.dumps(name), cell(stream.schema[name].type if name in stream.schema else None)) for name in names]


def _object(header: list[tuple[str, Callable[[str], str]]], row: list[str]) -> bytes:
    """One JSON object; an empty cell is a missing value."""
    cells = (f"{name}:{cell(text)}" for (name, cell), text in zip(header, row, strict=True) if text)
    return ("{" + ",".join(cells) + "}").encode()


def cell(type_: Type | None) -> Callable[[str], str]:
    """A cell's text as JSON; one that doesn't fit its type stays a string, and decoding will say what is wrong."""
    if type_ in (INT, LONG, DOUBLE) or isinstance(type_, Decimal):
        return _number
    if type_ == BOOL:
        return _bool
    if isinstance(type_, Struct | Array | Map):
        return _nested
    return _string


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _number(text: str) -> str:
    bare = text.strip()
    return bare if NUMBER.fullmatch(bare) else _string(text)


def _bool(text: str) -> str:
    bare = text.strip().lower()
    return bare if bare in ("true", "false") else _string(text)


def _nested(text: str) -> str:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return _string(text)
    return " ".join(text.splitlines())


FORMATS: dict[str, Callable[[Stream, Iterable[bytes]], Iterator[Line]]] = {"json": _json, "csv": _csv}
