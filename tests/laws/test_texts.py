"""The quick way to read text files gives what reading them row by row gives, wherever blocks end."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from unittest.mock import patch

from hypothesis import example, given, settings
from hypothesis import strategies as st

import tarnbeck as tb
from tarnbeck.lake import texts
from tarnbeck.log import lines
from tests.effort import tries

STREAM = tb.App("texts").stream(
    "events", "time timestamp, n bigint, d double, p decimal(9,2), b boolean, s string, a array<int>", time="time"
)
FLAT = tb.App("texts").stream("events", "time timestamp, n bigint, p decimal(9,2), b boolean, s string", time="time")

CELLS = st.one_of(
    st.sampled_from(["", "1", "-0", "007", "1.50", " 2", "1e3", "true", "TRUE", "x", "2021-03-01T12:00:00Z", "NaN"]),
    st.sampled_from(
        ['"a,b"', '"a""b"', '""', '"1"', 'a"b', '"a"b', '"un', '"a\nb"', "\\", "ä", "\t", "\x00", "\r", "[1]"]
    ),
    st.text(alphabet='ab",\n\r \\é', max_size=4),
).map(str.encode)
ROW = st.lists(st.one_of(CELLS, st.just(b"\xff")), max_size=7).map(b",".join)
PLAIN = st.lists(st.sampled_from([b"", b"1", b"-2.5", b"true", b"x y", b'"x, y"', b'""']), min_size=5, max_size=5).map(
    b",".join
)
END = st.sampled_from([b"\n", b"\r\n", b"\n\n"])


def rowwise(stream: tb.Stream, content: bytes, kind: lines.Format) -> list[tuple[bytes, str | None]]:
    found = lines.read(stream, io.BytesIO(content), kind)
    return [(line.value, line.reason) for line in found]


def blockwise(stream: tb.Stream, content: bytes, name: str, size: int) -> tuple[list[tuple[bytes, str | None]], int]:
    with tempfile.TemporaryDirectory() as folder, patch.object(texts, "BLOCK", size):
        path = Path(folder) / name
        path.write_bytes(content)
        found: list[tuple[bytes, str | None]] = []
        begin = 0
        counted = 0
        for block in texts.blocks(stream, str(path)):
            rows = block.rows()
            counted += block.count
            assert len(rows.texts) == block.count
            # What a survey took for a piece is read alone, too, and is the same.
            alone = [each for one in texts.blocks(stream, str(path), begin, block.end) for each in texts_of(one.rows())]
            assert alone == texts_of(rows)
            found += texts_of(rows)
            begin = block.end
        return found, counted


def texts_of(rows: texts.Rows) -> list[tuple[bytes, str | None]]:
    return [
        (b"" if at in rows.reasons else text, rows.reasons.get(at)) for at, text in enumerate(rows.texts.to_pylist())
    ]


@settings(max_examples=tries(300))
@given(rows=st.lists(st.one_of(ROW, PLAIN), max_size=8), end=END, size=st.integers(1, 80), nested=st.booleans())
@example(rows=[b'"a\nb",1', b"", b"1,2"], end=b"\n", size=3, nested=False)
@example(rows=[b"1,2,3,true,x"] * 3, end=b"\r\n", size=1000, nested=False)
def test_csv_in_blocks_is_csv_row_by_row(rows: list[bytes], end: bytes, size: int, nested: bool) -> None:
    stream, head = (STREAM, b"time,n,d,p,b,s,a") if nested else (FLAT, b"time,n,p,b,s")
    content = end.join([head, *rows])
    assert blockwise(stream, content, "a.csv", size)[0] == rowwise(stream, content, "csv")


@given(rows=st.lists(st.binary(max_size=12), max_size=8), end=END, size=st.integers(1, 80))
def test_json_lines_in_blocks_are_json_lines(rows: list[bytes], end: bytes, size: int) -> None:
    content = end.join(rows)
    found = [text.rstrip(b"\r\n") for text, _ in blockwise(FLAT, content, "a.json", size)[0]]
    assert found == [value for value, _ in rowwise(FLAT, content, "json")]
