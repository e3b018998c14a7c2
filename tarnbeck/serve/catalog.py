"""What there is to ask: streams and views as plain data."""

from __future__ import annotations

import json
from typing import Any

from tarnbeck.plan.definition import of_view
from tarnbeck.plan.view import Derived, Measure
from tarnbeck.serve.memo import memo
from tarnbeck.serve.wire import cut_to_json
from tarnbeck.store import rules
from tarnbeck.store.definitions import stream_of
from tarnbeck.store.protocol import Store

Facts = dict[str, Any]


def views(store: Store) -> list[Facts]:
    """Each view with its keys, levels and outputs, how far it is, and whether it can answer."""
    with store.snapshot() as snapshot:
        found = sorted(snapshot.versions.items())
    described = []
    for name, version in found:
        plan = memo(store).plan(store, version)
        view = plan.view
        itself = plan.table is not None and "over" not in of_view(plan.table)
        described.append(
            {
                "view": name,
                "version": version.id,
                "stream": version.stream,
                "table": plan.table is not None,
                "keys": [{"name": key.name, "type": str(key.type)} for key in view.keys],
                "levels": list(view.window.levels),
                "keep": of_view(view).get("keep", {}),
                "outputs": [_output(output, of_a_table=itself) for output in view.outputs],
                "state": "answering" if rules.answerable(version) else "building",
                "cut": cut_to_json(version.cut),
                "origin": cut_to_json(version.origin),
            }
        )
    return described


def _output(output: Measure | Derived, *, of_a_table: bool) -> Facts:
    """A column, and the aggregate that it is; none where it is computed from others, or a column of a table."""
    aggregate = output.aggregate.name if isinstance(output, Measure) and not of_a_table else None
    return {"name": output.name, "type": str(output.type), "aggregate": aggregate}


def streams(store: Store) -> list[Facts]:
    """Each stream with its definition, where it begins, and how far its lake is."""
    described = []
    for name, state in sorted(store.streams().items()):
        stream = stream_of(state)
        described.append(
            {
                "stream": name,
                "topic": stream.topic,
                "partitions": stream.partitions,
                "columns": [{"name": column.name, "type": str(column.type)} for column in stream.schema],
                "definition": json.loads(state.definition),
                "origin": cut_to_json(state.origin),
                "lake": cut_to_json(state.lake_cut),
            }
        )
    return described
