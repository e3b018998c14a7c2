"""Without a batch layer: closed epochs become a generation, from the states in the store and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import islice
from typing import Any

import pyarrow as pa

from tarnbeck.batch.layer import Done
from tarnbeck.cut import Span
from tarnbeck.errors import NotReady
from tarnbeck.plan.keep import CLOCK
from tarnbeck.plan.layout import Layout
from tarnbeck.plan.view import View
from tarnbeck.store import rules
from tarnbeck.store.definitions import view_of
from tarnbeck.store.protocol import Building, Refused, Row, Snapshot, Store

ROWS = 50_000
"""Rows that are handed over at once."""


History = Callable[[View, Span], pa.Table]
"""The partial of a view over rows that came from files."""


def run(store: Store, version_id: int, history: History) -> Done:
    """Closes the open epoch and merges all closed ones into the version's generation.

    No epoch holds what came from files: `history` computes what the lake has got of it since.
    """
    store.roll(version_id)
    version = store.versions().get(version_id)
    if version is None:
        raise NotReady(f"merge: version {version_id} was dropped meanwhile")
    view = view_of(version, store.streams())
    with store.snapshot([view.name], {view.name: version_id}) as snapshot:
        version = snapshot.versions[view.name]
        base, left = version.generation, rules.open_epoch(version)
        start = version.origin if base is None else base.cut
        # Not the version's cut: it may have moved since the roll, and what came is in the open epoch.
        merged = start if left is None else left.start
        cut = merged.with_history(store.lake_cut(version.stream).history)
        if not rules.answerable(version) or cut == start:
            return Done(view.name, start, full=False, records=0, rows=0)
        building = store.begin_generation(version_id, view.layout, cut, None if base is None else base.id)
        if isinstance(building, Refused):
            raise NotReady(f"merge: view '{view.name}': not begun ({building.reason})\n  run it again")
        try:
            rows = _write(building, view, snapshot, len(version.epochs) - 1)
        except BaseException:
            building.abandon()
            raise
    try:
        if cut != merged:
            # It may take long, and a snapshot that is held keeps the store from tidying up.
            building.write(history(view, merged.span_to(cut)))
        building.seal()
    except BaseException:
        building.abandon()
        raise
    outcome = store.publish(building, leap=False)
    if isinstance(outcome, Refused):
        building.abandon()
        raise NotReady(f"merge: view '{view.name}': not published ({outcome.reason})\n  run it again")
    return Done(view.name, cut, full=False, records=start.span_to(cut).records, rows=rows)


def _write(building: Building, view: View, snapshot: Snapshot, closed: int) -> int:
    count, before = 0, 1 if snapshot.versions[view.name].generation else 0
    for level in (*range(len(view.window.panes)), CLOCK):
        for part in snapshot.parts(view.name, level=level)[before : before + closed]:
            for rows in _slices(part):
                building.write(table(rows, view.layout))
                count += len(rows)
    return count


def _slices(part: Iterator[Row]) -> Iterator[list[Row]]:
    while rows := list(islice(part, ROWS)):
        yield rows


def table(rows: list[Row], layout: Layout) -> pa.Table:
    """Stored rows as the partial that they came from."""
    columns = zip(layout.arrow, zip(*rows, strict=True), strict=True)
    return pa.Table.from_arrays([_array(values, field.type) for field, values in columns], schema=layout.arrow)


def _array(values: tuple[Any, ...], type_: pa.DataType) -> pa.Array:
    """Wide integers are decimals in Arrow."""
    if pa.types.is_decimal(type_):
        return pa.array([None if value is None else Decimal(value) for value in values], type_)
    return pa.array(values, type_)
