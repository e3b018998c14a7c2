"""Answers on their way between processes: an Arrow stream that carries what the answer says of itself."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from tarnbeck.cut import Cut, partition_name, partition_named
from tarnbeck.schema import ddl
from tarnbeck.schema.types import Type
from tarnbeck.serve.answer import Answer

KEY = b"tarnbeck"
"""Under which an Arrow schema carries what an answer says of itself."""

Facts = dict[str, Any]


def facts(answer: Answer) -> Facts:
    """All that an answer says but its rows."""
    return {
        "view": answer.view,
        "version": answer.version,
        "columns": [{"name": name, "type": str(type_)} for name, type_ in answer.columns],
        "cut": cut_to_json(answer.cut),
        "origin": cut_to_json(answer.origin),
        "level": answer.level,
        "since": answer.since,
        "until": answer.until,
        "against": answer.against,
        "kept_since": answer.kept_since,
        "truncated": answer.truncated,
    }


def to_stream(table: pa.Table, known: Facts) -> bytes:
    """An Arrow stream whose schema carries the facts."""
    table = table.replace_schema_metadata({KEY: json.dumps(known)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    stream: bytes = sink.getvalue().to_pybytes()
    return stream


def from_stream(stream: bytes) -> tuple[pa.Table, Facts]:
    """The table and the facts of an Arrow stream that `to_stream` made."""
    table = pa.ipc.open_stream(stream).read_all()
    return table.replace_schema_metadata(), json.loads(table.schema.metadata[KEY])


def to_answer(table: pa.Table, known: Facts) -> Answer:
    """The answer that was sent as a table and its facts."""
    columns = [column.to_pylist() for column in table.columns]
    return Answer(
        known["view"],
        known["version"],
        tuple((column["name"], type_of(column["type"])) for column in known["columns"]),
        list(zip(*columns, strict=True)),
        cut_from_json(known["cut"]),
        cut_from_json(known["origin"]),
        known["level"],
        known["since"],
        known["until"],
        known["truncated"],
        known["against"],
        known["kept_since"],
    )


def type_of(text: str) -> Type:
    """The type that a text names."""
    return ddl.parse(f"it {text}")["it"].type


def cut_to_json(cut: Cut) -> Facts:
    return {"topic": cut.topic, "offsets": {partition_name(partition): offset for partition, offset in cut}}


def cut_from_json(found: Facts) -> Cut:
    return Cut.of(found["topic"], {partition_named(p): offset for p, offset in found["offsets"].items()})
