"""Other ways to finish the same states: about values that are named when asking, and with the bounds of each error."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from tarnbeck.algebra.aggregate import Aggregate, Arguments, Finish
from tarnbeck.algebra.state import State
from tarnbeck.errors import DeclarationError, UsageError, unknown
from tarnbeck.plan.view import Derived, Measure, View
from tarnbeck.schema.types import Type
from tarnbeck.serve import values

Outputs = tuple[Measure | Derived, ...]


@dataclass(frozen=True)
class Bound(Aggregate):
    """One side of an aggregate's bounds, as an output of its own."""

    of: Aggregate
    side: int
    name: ClassVar[str] = "bound"

    def result(self, arguments: Arguments) -> Type:
        return self.of.bounds_type(arguments)

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        return self.of.states(arguments)

    def finish(self, arguments: Arguments) -> Finish:
        around = self.of.bounds(arguments)
        assert around is not None  # noqa: S101 (made only of aggregates that have bounds)
        return lambda states: around(states)[self.side]


def finished(view: View, ask: Sequence[tuple[str, str]], *, bounds: bool) -> Outputs:
    """The outputs of a view, some of them asked about a value; with `bounds`, NAME_low and NAME_high of each estimate.

    An output that is computed from others follows what they answer.
    """
    outputs = _asked(view, dict(ask))
    return tuple(_with_bounds(view, outputs)) if bounds else outputs


def _asked(view: View, ask: dict[str, str]) -> Outputs:
    can = [o.name for o in view.outputs if isinstance(o, Measure) and o.aggregate.question(o.argument_types)]
    for name in ask:
        if name not in can:
            raise UsageError(unknown(f"view '{view.name}': ask", "output", name, can, "what can be asked"))
    return tuple(_about(view, o, ask[o.name]) if o.name in ask else o for o in view.outputs)


def _about(view: View, output: Measure | Derived, text: str) -> Measure | Derived:
    assert isinstance(output, Measure)  # noqa: S101 (checked before)
    place = f"view '{view.name}': ask: '{output.name}'"
    type_ = output.aggregate.question(output.argument_types)
    assert type_ is not None  # noqa: S101 (checked before)
    try:
        asked = output.aggregate.asked(values.key(text, type_, place))
    except DeclarationError as wrong:
        raise UsageError(f"{place}: {wrong}") from None
    return dataclasses.replace(output, aggregate=asked)


def _with_bounds(view: View, outputs: Outputs) -> Iterator[Measure | Derived]:
    taken = {output.name for output in outputs} | {key.name for key in view.keys}
    for output in outputs:
        yield output
        if not isinstance(output, Measure) or output.aggregate.bounds(output.argument_types) is None:
            continue
        for side, end in enumerate(("low", "high")):
            name = f"{output.name}_{end}"
            if name in taken:
                raise UsageError(f"view '{view.name}': bounds: it has a column '{name}' already\n  leave bounds out")
            bound = Bound(None, output.aggregate, side)
            type_ = bound.result(output.argument_types)
            yield dataclasses.replace(output, name=name, aggregate=bound, type=type_)
