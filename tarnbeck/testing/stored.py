"""A run's views in a store of their own, so that they can be asked as those of a running app are."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from tarnbeck.app import App
from tarnbeck.cut import Cut
from tarnbeck.memory.partials import Partial
from tarnbeck.plan.definition import identity, of_stream, of_view
from tarnbeck.plan.view import View
from tarnbeck.serve.client import Client, connect
from tarnbeck.serve.clock import now
from tarnbeck.store.protocol import SPEED, Contribution
from tarnbeck.store.sqlite import SQLiteStore

TOPIC = "tried in memory"


@contextmanager
def asked(app: App, found: Mapping[str, Partial], records: Mapping[str, int]) -> Iterator[Client]:
    """A client of what was found, at the cut after so many records of each stream."""
    with tempfile.TemporaryDirectory(prefix="tarnbeck-") as folder:
        _fill(Path(folder, "store"), app, found, records)
        with connect(folder) as client:
            yield client


def _fill(folder: Path, app: App, found: Mapping[str, Partial], records: Mapping[str, int]) -> None:
    origin = Cut.of(TOPIC, {})
    store = SQLiteStore(folder, now)
    try:
        for stream in app.streams.values():
            store.register_stream(stream.name, json.dumps(of_stream(stream)), TOPIC, origin, origin)
        for view in app.views.values():
            store.add_view(view.name, view.stream.name, json.dumps(of_view(view)), identity(view), view.layout)
        aliases, token = store.aliases(), store.take_token(SPEED)
        for name, view in app.views.items():
            cut = Cut.of(TOPIC, {0: records[view.stream.name]} if records[view.stream.name] else {})
            store.commit(token, [Contribution(aliases[name], origin, cut, view.layout, _table(view, found[name]))])
    finally:
        store.close()


def _table(view: View, partial: Partial) -> pa.Table:
    rows = [(*keys, level, pane, *states) for (keys, level, pane), states in partial.items()]
    schema = view.layout.arrow
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(list(values), field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)
