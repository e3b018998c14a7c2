"""One pass of the kernel feeds every view from its own cut."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

import tarnbeck as tb
from tarnbeck.cut import Cut
from tarnbeck.schema.decode import RECORDS, decode
from tarnbeck.speed import kernel

TIME = datetime(2026, 1, 1, tzinfo=UTC)
ORIGIN = Cut.of("id", {})


def application() -> tb.App:
    app = tb.App("kernel")
    events = app.stream("events", "time timestamp, key string", time="time", topic="events")
    for name, window in (("a", tb.all_time()), ("b", tb.tumbling("1 minute")), ("c", tb.rollup("minute", "hour"))):
        app.view(name, events, by="key", window=window, select={"n": tb.count()})
    return app


def batches(count: int) -> list[pa.RecordBatch]:
    """Records of partition 0, one event each, in two batches."""
    value = json.dumps({"time": TIME.isoformat(), "key": "k"}).encode()
    rows = [{"partition": 0, "offset": i, "timestamp": TIME, "key": None, "value": value} for i in range(count)]
    table = pa.Table.from_pylist(rows, schema=RECORDS).drop_columns(["key"])
    table = table.append_column("topic", pa.array(["events"] * count))
    found: list[pa.RecordBatch] = table.to_batches(max_chunksize=-(-count // 2))
    return found


def counted(count: int, *feeds: kernel.Feed) -> Counter[int]:
    """How many events each version counted at its finest level."""
    found: Counter[int] = Counter()
    for batch in kernel.run({"events": feeds}, iter(batches(count))):
        for row in batch.to_pylist():
            levels = kernel.unpack(row["partial"]).to_pylist()
            found[row["version"]] += sum(each["s0"] for each in levels if each["level"] == 0)
    return found


def test_events_are_decoded_once_for_all_views(monkeypatch: pytest.MonkeyPatch) -> None:
    app, decoded = application(), list[int]()

    def counting(stream: Any, records: pa.Table) -> Any:
        decoded.append(records.num_rows)
        return decode(stream, records)

    monkeypatch.setattr(kernel, "decode", counting)
    feed = kernel.feed(app.streams["events"], [(i, ORIGIN, view) for i, view in enumerate(app.views.values())])
    assert counted(10, feed) == {0: 10, 1: 10, 2: 10}
    assert decoded == [10]
    assert len(feed.works) == 1


def test_a_view_that_is_ahead_takes_only_what_is_new_to_it() -> None:
    app = application()
    ahead = Cut.of("id", {0: 7})
    fed = list(zip(range(3), (ORIGIN, ahead, ORIGIN), app.views.values(), strict=True))
    feed = kernel.feed(app.streams["events"], fed)
    assert counted(10, feed) == {0: 10, 1: 3, 2: 10}
    assert [work.versions for work in feed.works] == [(0, 2), (1,)]


def test_what_a_view_has_of_the_history_does_not_matter_to_the_kernel() -> None:
    app = application()
    cuts = (ORIGIN, ORIGIN.with_history(99), ORIGIN.with_history(5))
    feed = kernel.feed(app.streams["events"], list(zip(range(3), cuts, app.views.values(), strict=True)))
    assert counted(10, feed) == {0: 10, 1: 10, 2: 10}
    assert len(feed.works) == 1


def test_two_streams_may_stand_for_one_topic() -> None:
    app = application()
    other = app.stream("keys", "time timestamp, key string not null", time="time", topic="events")
    feeds = [
        kernel.feed(app.streams["events"], [(0, ORIGIN, app.views["a"])]),
        kernel.feed(other, [(1, Cut.of("id", {0: 4}), app.view("d", other, select={"n": tb.count()}))]),
    ]
    assert counted(10, *feeds) == {0: 10, 1: 6}
