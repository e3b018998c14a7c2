"""Aggregates that choose some events fairly: their values, or the events as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from tarnbeck.algebra.aggregate import Aggregate, Arguments, Finish, Value, needs, reader
from tarnbeck.algebra.kept import MOST, SampledRows
from tarnbeck.algebra.kept import Sample as SampleState
from tarnbeck.algebra.members import listed
from tarnbeck.algebra.state import Raw, State
from tarnbeck.errors import DeclarationError
from tarnbeck.schema.types import Array, Column, Decimal, Physical, Scalar, Struct, Type


@dataclass(frozen=True)
class Sample(Aggregate):
    """A uniform sample of k values, in the order of their events: every value had the same chance to be in it.

    Which are chosen depends on the events alone, so every layer and every recount choose the same.
    """

    k: int = 10
    name: ClassVar[str] = "sample"

    def result(self, arguments: Arguments) -> Type:
        self.bounded("k", self.k, 1, MOST)
        return Array(needs(self, arguments))

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        return (SampleState(needs(self, arguments).physical, self.k),)

    def finish(self, arguments: Arguments) -> Finish:
        state = SampleState(needs(self, arguments).physical, self.k)
        return listed(state.values, reader(needs(self, arguments)))


@dataclass(frozen=True)
class SampleEvents(Aggregate):
    """A uniform sample of k whole events, in their order, as `sample` chooses values.

    `of` names what is told of each: columns, or a mapping from names to expressions; by default all columns that
    hold single values.
    """

    column: str | None = field(default=None, init=False)
    k: int = 10
    of: str | Mapping[str, str] | Sequence[str] = "*"
    mark: str = field(default="1", init=False)
    """There for every event that counts, whatever else it lacks."""
    name: ClassVar[str] = "sample_events"

    def __post_init__(self) -> None:
        if isinstance(self.of, Mapping):
            object.__setattr__(self, "of", tuple(self.of.items()))
        elif not isinstance(self.of, str):
            object.__setattr__(self, "of", tuple((each, each) for each in self.of))

    def __str__(self) -> str:
        return f"{self.name}({self.k!r})"

    def over(self, columns: Mapping[str, Type]) -> Aggregate:
        if self.of != "*":
            return self
        single = {name: name for name, type_ in columns.items() if isinstance(type_, (Scalar, Decimal))}
        return replace(self, of=single)

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.mark, *(text for _, text in self._named))

    def options(self) -> dict[str, Any]:
        return {"k": self.k, "of": [name for name, _ in self._named]}

    @classmethod
    def again(cls, columns: Sequence[str], options: Mapping[str, Any]) -> Self:
        found = cls(options["k"], dict(zip(options["of"], columns[1:], strict=True)))
        object.__setattr__(found, "mark", columns[0])
        return found

    @property
    def _named(self) -> tuple[tuple[str, str], ...]:
        if not isinstance(self.of, tuple):
            raise DeclarationError(
                f"{self}: bad of {self.of!r}\n  expected names of columns, such as ['item', 'price']"
            )
        return self.of

    def result(self, arguments: Arguments) -> Type:
        self.bounded("k", self.k, 1, MOST)
        named = zip(self._named, arguments[1:], strict=True)
        return Array(Struct(tuple(Column(name, type_) for (name, _), type_ in named)))

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        return (self._kept(arguments),)

    def _kept(self, arguments: Arguments) -> SampledRows:
        return SampledRows(Physical.INT, tuple(type_.physical for type_ in arguments[1:]), self.k)

    def finish(self, arguments: Arguments) -> Finish:
        rows, readers = self._kept(arguments).rows, [reader(type_) for type_ in arguments[1:]]
        names = [name for name, _ in self._named]

        def sampled(states: tuple[tuple[Raw, ...], ...]) -> list[dict[str, Value]] | None:
            if states[0][0] is None:
                return None
            found = rows(states[0][0])  # type: ignore[arg-type]
            return [{n: read(raw) for n, read, raw in zip(names, readers, row, strict=True)} for row in found]

        return sampled
