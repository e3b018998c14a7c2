"""What a store must know of a view: the raw columns of its partials and how two rows of states merge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from tarnbeck.algebra.packed import ARROW
from tarnbeck.algebra.state import Raw
from tarnbeck.schema.types import Physical


@dataclass(frozen=True)
class Layout:
    """A partial's columns are k0.., level, pane, s0..: one row per (keys, level, pane).

    `level` counts a rollup's units from 0 (the finest), and is 0 for every other window. `pane` is the pane's start in
    UTC microseconds, 0 for all time. A view that does not keep everything has one row more, at level -1: see
    `plan/keep.py`. `merge(a, b)` takes and gives one tuple of raw states.
    """

    keys: tuple[Physical, ...]
    states: tuple[Physical, ...]
    merge: Callable[[tuple[Raw, ...], tuple[Raw, ...]], tuple[Raw, ...]]

    @property
    def arrow(self) -> pa.Schema:
        """The Arrow schema of a partial of this layout."""
        keys = [(f"k{i}", ARROW[physical]) for i, physical in enumerate(self.keys)]
        states = [(f"s{i}", ARROW[physical]) for i, physical in enumerate(self.states)]
        return pa.schema([*keys, ("level", pa.int64()), ("pane", pa.int64()), *states])
