"""Files of older events: found, surveyed in pieces, and decoded as the log's records are."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tarnbeck as tb
from tarnbeck.cut import HISTORY, Cut, Span
from tarnbeck.errors import LakeError
from tarnbeck.lake import files, texts
from tarnbeck.schema.decoded import Decoded
from tarnbeck.schema.stream import Former, Stream

SCHEMA = "time timestamp, k string, price decimal(12,2), n bigint"
TIME = dt.datetime(2021, 3, 1, 12, tzinfo=dt.UTC)
ROWS: list[dict[str, Any]] = [
    {"time": TIME + dt.timedelta(seconds=n), "k": f'k, "{n}"\n' if n % 7 == 0 else "plain", "price": n / 4, "n": n}
    for n in range(300)
]


def stream_of(schema: str = SCHEMA, **given: Any) -> Stream:
    return tb.App("files").stream("events", schema, time="time", **given)


def text_of(row: dict[str, Any]) -> str:
    return json.dumps({**row, "time": row["time"].isoformat()})


def as_json(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("\n\n".join(map(text_of, rows)) + "\n")


def as_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    cells = [[str(row["time"].isoformat()), row["k"], str(row["price"]), str(row["n"])] for row in rows]
    lines = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in cells]
    path.write_text("\n".join(["time,k,price,n", *lines]))


def as_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    typed = [{**row, "price": Decimal(str(row["price"]))} for row in rows]
    kinds = [pa.timestamp("ms", "UTC"), pa.string(), pa.decimal128(12, 2), pa.int64()]
    schema = pa.schema(list(zip(("time", "k", "price", "n"), kinds, strict=True)))
    pq.write_table(pa.Table.from_pylist(typed, schema=schema), path, row_group_size=64)


def packed(write: Callable[[Path, list[dict[str, Any]]], None]) -> Callable[[Path, list[dict[str, Any]]], None]:
    def written(path: Path, rows: list[dict[str, Any]]) -> None:
        write(path, rows)
        path.write_bytes(gzip.compress(path.read_bytes()))

    return written


WRITERS = {
    "a.jsonl": as_json,
    "a.json.gz": packed(as_json),
    "a.csv": as_csv,
    "a.csv.gz": packed(as_csv),
    "a.parquet": as_parquet,
}


def found(folder: Path, name: str) -> files.Found:
    (file,) = files.find([name], folder)
    return file


def together(parts: list[Decoded]) -> Decoded:
    return Decoded(pa.concat_tables(p.events for p in parts), pa.concat_tables(p.rejects for p in parts))


def span(start: int, end: int) -> Span:
    topic = Cut("id")
    return topic.with_history(start).span_to(topic.with_history(end))


def read(stream: Stream, pieces: list[files.Piece], within: Span) -> Decoded:
    return together([part for piece in pieces for part in files.decoded(stream, piece, within)])


@pytest.mark.parametrize("name", WRITERS)
def test_every_kind_of_file_gives_the_same_events_however_it_is_cut(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "PIECE", 2_000)
    monkeypatch.setattr(texts, "BLOCK", 700)
    stream = stream_of()
    WRITERS[name](tmp_path / name, ROWS)
    file, pieces = files.survey(stream, found(tmp_path, "*"), 1_000)
    assert (file.rows, file.first, file.end) == (300, 1_000, 1_300)
    assert (len(pieces) > 3) == (not name.endswith(".gz"))
    whole = read(stream, pieces, span(0, 2_000))
    assert whole.rejects.num_rows == 0
    events = whole.events.to_pylist()
    assert [event["_offset"] for event in events] == list(range(1_000, 1_300))
    assert {(event["_partition"], event["_index"]) for event in events} == {(HISTORY, 0)}
    assert [(event["time"], event["k"], event["price"], event["n"]) for event in events] == [
        (row["time"], row["k"], Decimal(str(row["price"])), row["n"]) for row in ROWS
    ]
    assert [event["_received"] for event in events] == [event["_time"] for event in events]
    part = read(stream, pieces, span(1_010, 1_200))
    assert part.events.equals(whole.events.slice(10, 190))


def test_rows_that_are_no_events_are_kept_whole_with_the_reason(tmp_path: Path) -> None:
    stream = stream_of()
    good = '2021-03-01T12:00:00Z,"a",1,'
    lines = ["time,k,price,n", *[f"{good}{n}" for n in range(3)], f"{good}x", "1,2", f"{good}3", '"unclosed']
    (tmp_path / "a.csv").write_text("\n".join(lines))
    file, pieces = files.survey(stream, found(tmp_path, "a.csv"), 0)
    seen = read(stream, pieces, span(0, file.rows))
    assert seen.events.column("_offset").to_pylist() == [0, 1, 2, 5]
    assert [(r["_offset"], r["value"], r["reason"]) for r in seen.rejects.to_pylist()] == [
        (3, b'{"time":"2021-03-01T12:00:00Z","k":"a","price":1,"n":"x"}', 'n: expected bigint, found string "x"'),
        (4, b"1,2", "4 cells expected as in the header, 2 found"),
        (6, b'"unclosed', "not CSV: unexpected end of data"),
    ]
    changed = dt.datetime.fromtimestamp((tmp_path / "a.csv").stat().st_mtime, dt.UTC)
    assert abs(seen.rejects.column("_received")[0].as_py() - changed) < dt.timedelta(milliseconds=1)

    (tmp_path / "b.jsonl").write_bytes(b'{"n": 1}\n{\n' + text_of(ROWS[1]).encode() + b"\n\xff\n")
    file, pieces = files.survey(stream, found(tmp_path, "b.jsonl"), 0)
    reasons = read(stream, pieces, span(0, file.rows)).rejects.column("reason").to_pylist()
    assert reasons == ["time: missing", "not JSON: ends too early", "bad UTF-8 at byte 0"]

    rows = [{"time": TIME, "n": 1, "x": 0.5}, {"time": None, "n": 2, "x": 0.5}, {"time": TIME, "n": 3, "x": None}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "c.parquet")
    file, pieces = files.survey(stream, found(tmp_path, "c.parquet"), 0)
    seen = read(stream, pieces, span(0, file.rows))
    assert [(r["value"], r["reason"]) for r in seen.rejects.to_pylist()] == [(b'{"n":2,"x":0.5}', "time: missing")]
    assert seen.events.column("_extra").to_pylist() == [[("x", "0.5")], None]


def test_an_event_was_not_received_after_its_file_was_written(tmp_path: Path) -> None:
    as_json(tmp_path / "a.json", [{**ROWS[0], "time": dt.datetime(2999, 1, 1, tzinfo=dt.UTC)}])
    file, pieces = files.survey(stream_of(), found(tmp_path, "a.json"), 0)
    (event,) = read(stream_of(), pieces, span(0, 1)).events.to_pylist()
    assert event["_time"].year == 2999
    assert event["_received"] == dt.datetime.fromtimestamp(0, dt.UTC) + dt.timedelta(microseconds=file.modified)


def test_a_file_that_means_something_else_is_refused_before_it_is_loaded(tmp_path: Path) -> None:
    naive = [{"time": dt.datetime(2021, 3, 1, 12), "n": n} for n in range(50)]
    pq.write_table(pa.Table.from_pylist(naive), tmp_path / "a.parquet")
    with pytest.raises(
        LakeError, match=r"'a.parquet': none of its first 50 rows fits\n  the first one: time: no time zone"
    ):
        files.survey(stream_of(), found(tmp_path, "a.parquet"), 0)
    assert files.survey(stream_of(zone="Europe/Vienna"), found(tmp_path, "a.parquet"), 0)[0].rows == 50
    (tmp_path / "b.csv").write_text("when,what\n1,2\n")
    with pytest.raises(LakeError, match=r"'b.csv': the first line names no column of stream 'events'"):
        files.survey(stream_of(), found(tmp_path, "b.csv"), 0)
    pq.write_table(pa.table({"time": [TIME], "t": pa.array([1], pa.duration("s"))}), tmp_path / "c.parquet")
    with pytest.raises(LakeError, match=r"column 't': no event can hold duration"):
        files.survey(stream_of(), found(tmp_path, "c.parquet"), 0)
    (tmp_path / "d.parquet").write_bytes(b"PAR")
    with pytest.raises(LakeError, match="it can't be read"):
        files.survey(stream_of(), found(tmp_path, "d.parquet"), 0)


def test_a_line_that_never_ends_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "BLOCK", 100)
    monkeypatch.setattr(texts, "LONGEST", 1_000)
    (tmp_path / "a.json").write_text("[" + "1," * 1_000)
    with pytest.raises(LakeError, match="a line is longer than"):
        files.survey(stream_of(), found(tmp_path, "a.json"), 0)


def test_rows_are_read_as_the_stream_was_when_they_were_begun(tmp_path: Path) -> None:
    """A loader that died is followed by one whose stream has grown; what was begun is redone as it was."""
    as_parquet(tmp_path / "a.parquet", ROWS)
    as_json(tmp_path / "a.json", ROWS)
    until = Cut("id").with_history(100)
    before = stream_of("time timestamp, n bigint")
    grown = stream_of("time timestamp, n bigint, k string")
    after = Stream(**{**vars(grown), "former": (Former(before.schema, until),)})
    for name in ("a.parquet", "a.json"):
        file = found(tmp_path, name)
        _, pieces = files.survey(after, file, 0)
        old = read(after, [piece for piece in pieces if piece.first < 64], span(0, 64)).events
        assert old.column("k").null_count == 64
        assert dict(old.column("_extra")[0].as_py())["k"] == json.dumps(ROWS[0]["k"])
        _, pieces = files.survey(after, file, 100)
        assert read(after, pieces, span(100, 400)).events.column("k").null_count == 0


def test_files_are_found_below_a_folder_each_once(tmp_path: Path) -> None:
    for name in ("b.json", "a.json", "deep/er/c.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "d.json").mkdir()
    names = [file.name for file in files.find(["*.json", "**/*.json"], tmp_path)]
    assert names == ["a.json", "b.json", "deep/er/c.json"]
    assert [file.name for file in files.find([f"{tmp_path}/a.*"], Path("/"))] == [str(tmp_path / "a.json")]
    assert files.survey(stream_of(), found(tmp_path, "a.json"), 7)[0].rows == 0
