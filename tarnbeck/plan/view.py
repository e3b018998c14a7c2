"""A view as checked, immutable data: keys, window, states, and how states become the columns of an answer."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tarnbeck.algebra.aggregate import Aggregate, Arguments, reader
from tarnbeck.algebra.packed import Packed
from tarnbeck.algebra.state import Raw, State
from tarnbeck.errors import TarnbeckError
from tarnbeck.expression import Expression
from tarnbeck.plan.layout import Layout
from tarnbeck.schema import types
from tarnbeck.schema.stream import Stream
from tarnbeck.schema.types import ScalarType, Type
from tarnbeck.window.pane import Whole
from tarnbeck.window.window import Window

States = tuple[Raw, ...]
ARRIVAL = "_received"
"""The column of every stream that says when the log received an event."""


@dataclass(frozen=True)
class Key:
    """One column that a view groups by."""

    name: str
    expression: Expression
    type: ScalarType


@dataclass(frozen=True)
class Measure:
    """One aggregate of a view, finished from the states at these places of `View.states`."""

    name: str
    aggregate: Aggregate
    arguments: tuple[Expression, ...]
    type: Type
    states: tuple[int, ...]

    @property
    def argument_types(self) -> Arguments:
        return tuple(argument.type for argument in self.arguments)  # type: ignore[misc]


@dataclass(frozen=True)
class Derived:
    """A column computed from the measures before it, when read."""

    name: str
    expression: Expression
    type: ScalarType


@dataclass(frozen=True)
class StateCall:
    """One state over its arguments; measures that need the same share it."""

    state: State
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Table:
    """What makes a view a table: its rows are single changes, and of each key the one that holds is answered from.

    The keys of such a view are the table's own, then an event's time and place; its states are when the log received
    the change, whether it deletes the row (if `deleted` says when it does), and the columns of the row.
    """

    deleted: Expression | None
    over: View
    """What is answered: a view over the rows that hold, as if they were events."""


@dataclass(frozen=True)
class View:
    """One declared view: data only. Engines are functions over it."""

    name: str
    stream: Stream
    keys: tuple[Key, ...]
    where: Expression | None
    window: Window
    outputs: tuple[Measure | Derived, ...]
    states: tuple[StateCall, ...]
    late: int | None = None
    """An event that was received more than so many microseconds after its time is left out; None: none is."""
    keep: tuple[int | None, ...] = ()
    """How many microseconds the panes of each level are kept, None: for ever; nothing at all: so are all."""
    table: Table | None = None

    @functools.cached_property
    def layout(self) -> Layout:
        fields = tuple(field for call in self.states for field in call.state.fields)
        return Layout(tuple(key.type.physical for key in self.keys), fields, self._merger())

    @functools.cached_property
    def neutral(self) -> States:
        """A row of raw states of no events."""
        return tuple(field for call in self.states for field in call.state.neutral)

    def _slots(self) -> list[slice]:
        """Where each state's fields stand in a row of raw states."""
        slots, start = [], 0
        for call in self.states:
            slots.append(slice(start, start + len(call.state.fields)))
            start = slots[-1].stop
        return slots

    @functools.cached_property
    def clock(self) -> int | None:
        """Which field of a row of raw states is the newest arrival, in a view that does not keep everything."""
        if not self.keep:
            return None
        parts = zip(self._slots(), self.states, strict=True)
        return next((slot.start for slot, call in parts if any(a.sql == ARRIVAL for a in call.arguments)), None)

    @functools.cached_property
    def packed(self) -> tuple[tuple[str, Packed], ...]:
        """The states that only Python can compute, by the names of their columns."""
        parts = zip(self._slots(), self.states, strict=True)
        return tuple((f"s{slot.start}", call.state) for slot, call in parts if isinstance(call.state, Packed))

    def _merger(self) -> Callable[[States, States], States]:
        parts = [(slot, call.state.merge) for slot, call in zip(self._slots(), self.states, strict=True)]

        def merge(a: States, b: States) -> States:
            merged: list[Raw] = []
            for slot, merge_state in parts:
                merged += merge_state(a[slot], b[slot])
            return tuple(merged)

        return merge

    def equal(self, a: States, b: States) -> bool:
        """Whether two rows of raw states are the same result, by each state's own equality."""
        parts = zip(self._slots(), self.states, strict=True)
        return all(call.state.equal(a[slot], b[slot]) for slot, call in parts)

    @functools.cached_property
    def finish(self) -> Callable[[States], tuple[Any, ...]]:
        """A function from a row of merged raw states to the values of `outputs`."""
        if self.plain:
            # Many views need no more than this, and most of the time of an answer was spent here.
            return operator.itemgetter(*self.plain)
        slots = self._slots()
        steps: list[tuple[str, Callable[..., Any], Sequence[slice] | None]] = []
        for output in self.outputs:
            if isinstance(output, Measure):
                places = [slots[i] for i in output.states]
                steps.append((output.name, output.aggregate.finish(output.argument_types), places))
            else:
                steps.append((output.name, output.expression.python(), None))

        def finished(states: States) -> tuple[Any, ...]:
            row: dict[str, Any] = {}
            try:
                for name, compute, places in steps:
                    row[name] = compute(row) if places is None else compute(tuple([states[p] for p in places]))
            except TarnbeckError as wrong:
                raise type(wrong)(f"view '{self.name}': '{name}': {wrong}") from wrong.__cause__
            return tuple(row.values())

        return finished

    @functools.cached_property
    def plain(self) -> tuple[int, ...]:
        """Which fields of a row of raw states are the outputs, if all are just as they are kept; else none."""
        slots, found = self._slots(), []
        for output in self.outputs:
            field = output.aggregate.plain(output.argument_types) if isinstance(output, Measure) else None
            if field is None or not isinstance(output, Measure):
                return ()
            found.append(range(slots[-1].stop)[slots[output.states[0]]][field])
        # One field alone would not be picked as a tuple.
        return tuple(found) if len(found) > 1 else ()

    @functools.cached_property
    def read_keys(self) -> Callable[[Sequence[Raw]], tuple[Any, ...]]:
        """A function from raw keys to the values users see."""
        readers = [reader(key.type) for key in self.keys]
        return lambda raws: tuple([read(raw) for read, raw in zip(readers, raws, strict=True)])


def columns_of(view: View) -> tuple[tuple[str, Type], ...]:
    """The columns of an answer: keys, start and end of the window unless it is all time, outputs."""
    window: tuple[tuple[str, Type], ...] = (("start", types.TIMESTAMP), ("end", types.TIMESTAMP))
    return (
        *((key.name, key.type) for key in view.keys),
        *(() if isinstance(view.window.panes[0], Whole) else window),
        *((output.name, output.type) for output in view.outputs),
    )
