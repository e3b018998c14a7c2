"""Figure: the batch layer against the same aggregation written by hand on the same Delta table."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bench import peers
from bench.declared import MINUTES, STREAM, declare
from bench.figure import OURS, Figure, Target, race, rate
from bench.place import Place
from tarnbeck.batch import layer as batch
from tarnbeck.batch.layer import Source
from tarnbeck.lake import tables as lake
from tarnbeck.lake import writer
from tarnbeck.lake.tables import Tables
from tarnbeck.node.register import register
from tarnbeck.serve.clock import now
from tarnbeck.spark.partials import partials
from tarnbeck.store.protocol import LAKE, SPEED, Contribution, Store
from tarnbeck.store.sqlite import SQLiteStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TARGET = Target(0.9, least=True)


def figures(place: Place) -> Iterator[Figure]:
    with place.spark("batch") as spark:
        yield measure(spark, place)


def measure(spark: SparkSession, place: Place) -> Figure:
    """One-minute count, sum, min and max by key, from the lake to Arrow in the driver, and the whole batch."""
    with place.fresh("batch") as folder:
        return _measure(spark, place, folder)


def _measure(spark: SparkSession, place: Place, folder: Path) -> Figure:
    app = declare(place.topic, [MINUTES])
    view, tables = app.views[MINUTES], Tables(str(folder / "lake"), app.streams[STREAM])
    store = SQLiteStore(folder / "store", now)
    register(app, store, place.log)
    write_lake(spark, place, store, tables)
    version = store.aliases()[MINUTES]
    source = Source(spark, place.log, store, tables.root)
    span = store.versions()[version].origin.span_to(place.end)
    whole: list[float] = []
    phases: dict[str, float] = {}
    rows: set[int] = set()

    def ours() -> float:
        began = time.perf_counter()
        found = partials(view, lake.read(spark, tables, span)).toArrow()
        took = time.perf_counter() - began
        rows.add(found.num_rows)
        phases.update(_batch(source, version))
        whole.append(sum(phases.values()))
        return took

    def peer() -> float:
        took, found = peers.minutes(spark, tables.events)
        rows.add(found.num_rows)
        return took

    def whole_table() -> float:
        """What the computation takes when it need not look at offsets: to see what that costs."""
        began = time.perf_counter()
        partials(view, spark.read.format("delta").load(tables.events)).toArrow()
        return time.perf_counter() - began

    best = race(place.repeats, {OURS: ours, "by hand": peer}, place.tell)
    mine, theirs = best[OURS], best["by hand"]
    unbounded = min(whole_table() for _ in range(place.repeats))
    store.close()
    assert len(rows) == 1, f"both sides must find the same windows, found {rows}"
    return Figure(
        "batch",
        "lake to one-minute count, sum, min, max by 1,000 keys, against the same by hand",
        rate(place.events, mine),
        rate(place.events, theirs),
        theirs / mine,
        TARGET,
        notes=(f"a whole batch, with its generation written and published: {rate(place.events, min(whole[1:]))}",),
        profile=(
            f"the same by hand: {theirs:.2f} s",
            f"tarnbeck's aggregation (with the sum of magnitudes) of the whole table: {unbounded:.2f} s",
            f"of the span, as the lake gives it (by the statistics of its files, if they suffice): {mine:.2f} s",
            *(f"whole batch, {step}: {seconds:.2f} s" for step, seconds in phases.items()),
        ),
    )


def write_lake(spark: SparkSession, place: Place, store: Store, tables: Tables) -> None:
    """The lake as its layer would leave it, and the view's cut where the speed layer would have brought it."""
    lake.create(spark, tables)
    (state,) = store.streams().values()
    intent = store.open_intent(store.take_token(LAKE), state.name, state.lake_cut, place.end)
    assert intent is not None, "a new store has no open intent"
    writer.write(spark, place.log, tables, intent.start.span_to(intent.end), intent.id, redo=False)
    store.close_intent(intent)
    (version,) = store.fed()
    layout = declare(place.topic, [MINUTES]).views[MINUTES].layout
    nothing = Contribution(version.id, version.cut, place.end, layout, layout.arrow.empty_table())
    store.commit(store.take_token(SPEED), [nothing])


def _batch(source: Source, version: int) -> dict[str, float]:
    """Runs the batch layer itself: the seconds of each of its steps."""
    marks: list[tuple[str, float]] = []
    batch.run(
        source,
        version,
        full=True,
        step=lambda name: marks.append((name, time.perf_counter())),
        stop=threading.Event(),
    )
    ends = [at for _, at in marks[1:]] + [time.perf_counter()]
    return {name: end - at for (name, at), end in zip(marks, ends, strict=True)}
