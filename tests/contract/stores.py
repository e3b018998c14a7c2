"""The stores under contract, what each of them lacks, and small things that all contract tests need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

from tarnbeck.algebra.state import Raw
from tarnbeck.cut import Cut
from tarnbeck.plan.layout import Layout
from tarnbeck.schema.types import Physical
from tarnbeck.store.protocol import Contribution, Snapshot, Store
from tarnbeck.store.sqlite import SQLiteStore
from tarnbeck.store.state import Feeder, VersionState

Open = Callable[[Path, Callable[[], int]], Store]
STORES: Mapping[str, Open] = {"sqlite": SQLiteStore}
LACKS: Mapping[str, set[str]] = {"sqlite": set()}
"""By store, the names of the tests that it declares it can't pass."""

TOPIC, STREAM = "id-of-topic", "prices"
Row = tuple[Raw, ...]


def _add(left: Row, right: Row) -> Row:
    return tuple(b if a is None else a if b is None else a + b for a, b in zip(left, right, strict=True))  # type: ignore[operator]


COUNTS = Layout((Physical.TEXT,), (Physical.INT,), _add)


def layout_of(keys: Sequence[Physical], states: Sequence[Physical]) -> Layout:
    return Layout(tuple(keys), tuple(states), _add)


def table(layout: Layout, rows: Sequence[Row]) -> pa.Table:
    """A partial of rows of keys, level, pane, states."""
    columns = zip(*rows, strict=True) if rows else [[] for _ in layout.arrow]
    return pa.Table.from_arrays(
        [
            pa.array([Decimal(v) if pa.types.is_decimal(f.type) and v is not None else v for v in column], f.type)
            for f, column in zip(layout.arrow, columns, strict=True)
        ],
        schema=layout.arrow,
    )


def cut(*offsets: int) -> Cut:
    return Cut.of(TOPIC, dict(enumerate(offsets)))


@dataclass
class Case:
    """A store with one registered stream and a clock that stands still until it is moved."""

    open: Open
    folder: Path
    now: list[int] = field(default_factory=lambda: [1_000_000])

    def __post_init__(self) -> None:
        self.store = self.open(self.folder, lambda: self.now[0])
        self.store.register_stream(STREAM, "{}", "prices", cut(), cut(1000, 1000))

    def again(self) -> Store:
        """The same store, as another process would open it."""
        return self.open(self.folder, lambda: self.now[0])

    def view(self, name: str = "ohlc", layout: Layout = COUNTS, feeder: Feeder = Feeder.LIVE) -> VersionState:
        return self.store.add_view(name, STREAM, "{}", "hash", layout, feeder)

    def state(self, version: int) -> VersionState:
        return self.store.versions()[version]

    def share(self, version: int, start: Cut, end: Cut, rows: Sequence[Row], layout: Layout = COUNTS) -> Contribution:
        return Contribution(version, start, end, layout, table(layout, rows))

    def feed(self, version: int, end: Cut, rows: Sequence[Row], layout: Layout = COUNTS) -> None:
        """Commit rows from the version's cut up to `end`, as a replay writer does."""
        done = self.store.commit(None, [self.share(version, self.state(version).cut, end, rows, layout)])
        assert done.done == (version,)

    def built(self, version: int, end: Cut, rows: Sequence[Row], base: int | None = None, leap: bool = False) -> object:
        """Build and publish a generation."""
        building = self.store.begin_generation(version, COUNTS, end, base)
        building.write(table(COUNTS, rows))  # type: ignore[union-attr]
        building.seal()  # type: ignore[union-attr]
        return self.store.publish(building, leap)  # type: ignore[arg-type]

    def rows(self, view: str = "ohlc") -> list[Row]:
        with self.store.snapshot([view]) as snapshot:
            return rows_of(snapshot, view)


def rows_of(snapshot: Snapshot, view: str = "ohlc") -> list[Row]:
    return [row for part in snapshot.parts(view) for row in part]
