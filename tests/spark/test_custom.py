"""A user's aggregate runs in Spark's workers, though no module of theirs can be imported there."""

from __future__ import annotations

import functools
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import from_arrow_schema

from tarnbeck.cut import Cut
from tarnbeck.memory.partials import partials as in_memory
from tarnbeck.memory.partials import rows
from tarnbeck.node.loading import load_shipped
from tarnbeck.schema.decode import decode
from tarnbeck.spark.partials import partials
from tarnbeck.speed import kernel
from tests.spark.test_partials import places

CLASS = """
import tarnbeck as tb

CAP = 50


class Capped(tb.Custom):
    state = "total bigint, n bigint"
    returns = "double"

    def prepare(self, value):
        return min(value, CAP), 1

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1]

    def finish(self, state):
        return state[0] / state[1]
"""
FILE = """
import tarnbeck as tb

app = tb.App("mine")
numbers = app.stream("numbers", "time timestamp, key string, n int", time="time")
app.view("minutes", numbers, by="key", window=tb.rollup("minute", "hour"), select={"capped": Capped("n")})
"""


@pytest.mark.spark
@pytest.mark.parametrize("place", ["in the file", "beside it"])
def test_a_users_class_runs_in_batch_and_speed_as_in_memory(place: str, spark: Any, tmp_path: Path) -> None:
    (tmp_path / "capped_by_me.py").write_text(CLASS)
    (tmp_path / "mine.py").write_text((CLASS if place == "in the file" else "from capped_by_me import Capped") + FILE)
    app = load_shipped(tmp_path / "mine.py")
    stream, view = app.streams["numbers"], app.views["minutes"]
    start = datetime(2026, 1, 1, tzinfo=UTC)
    values = [
        f'{{"time": "{(start + timedelta(seconds=7 * n)).isoformat()}", "key": "{"ab"[n % 2]}", "n": {n}}}'.encode()
        for n in range(500)
    ]
    records = pa.table(
        {
            "partition": pa.array([0] * len(values), pa.int32()),
            "offset": pa.array(range(len(values)), pa.int64()),
            "timestamp": pa.array([start] * len(values), pa.timestamp("us", "UTC")),
            "key": pa.nulls(len(values), pa.binary()),
            "value": pa.array(values, pa.binary()),
            "content_type": pa.nulls(len(values), pa.binary()),
        }
    )
    events = decode(stream, records).events
    expected = in_memory(view, rows(events))
    batch = partials(view, spark.createDataFrame(events)).toArrow()
    assert places(batch, view) == expected
    feeds = {stream.topic: [kernel.feed(stream, [(1, Cut.of("id", {}), view)])]}
    topic = pa.array([stream.topic] * len(values))
    frame = spark.createDataFrame(records.append_column("topic", topic).drop_columns(["key"]))
    found = frame.mapInArrow(functools.partial(kernel.run, feeds), from_arrow_schema(kernel.OUTPUT)).toArrow()
    speed = pa.concat_tables(kernel.unpack(packed) for packed in found.column("partial").to_pylist())
    assert places(speed, view) == expected
