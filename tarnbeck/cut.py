"""Where the log was read up to: cuts, and the spans between them. The only notion of progress."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Self

HISTORY = -1
"""The partition of the events that came from files and never were in the log; no topic has one of this number."""


def partition_name(partition: int) -> str:
    """How a partition is written: its number, or `history`."""
    return "history" if partition == HISTORY else str(partition)


def partition_named(text: str) -> int:
    """The partition that a text names."""
    return HISTORY if text == "history" else int(text)


@dataclass(frozen=True)
class Cut:
    """The next offset of each partition of one topic; a partition that is not named stands at 0.

    >>> Cut.of("t", {0: 5, 1: 0}) == Cut.of("t", {0: 5})
    True
    >>> Cut.of("t", {0: 5}).covers(Cut.of("t", {0: 4})), Cut.of("t", {0: 5}).covers(Cut.of("t", {1: 1}))
    (True, False)
    >>> print(Cut.of("t", {0: 5}).with_history(1200))
    history:1200 0:5
    """

    topic: str
    """The topic's id (not its name): a topic that was deleted and made again is another topic."""
    offsets: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, topic: str, offsets: Mapping[int, int]) -> Self:
        """A cut in its one canonical form: sorted, zeros left out."""
        if any(partition < HISTORY or offset < 0 for partition, offset in offsets.items()):
            raise ValueError(f"a cut has no negative partitions or offsets: {dict(offsets)}")
        return cls(topic, tuple(sorted((p, o) for p, o in offsets.items() if o)))

    def __getitem__(self, partition: int) -> int:
        return dict(self.offsets).get(partition, 0)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self.offsets)

    @property
    def history(self) -> int:
        """How many rows of the stream's files are below this cut."""
        return self[HISTORY]

    @property
    def log(self) -> Cut:
        """What is below this cut in the log alone."""
        return self.with_history(0)

    def with_history(self, rows: int) -> Cut:
        """The same cut of the log, with so many rows of the stream's files."""
        return Cut.of(self.topic, {**dict(self.offsets), HISTORY: rows})

    def _same_topic(self, other: Cut) -> None:
        if self.topic != other.topic:
            raise ValueError(f"cuts of different topics can't be compared: {self.topic} and {other.topic}")

    def covers(self, other: Cut) -> bool:
        """Whether every event below `other` is below this cut too."""
        self._same_topic(other)
        mine = dict(self.offsets)
        return all(mine.get(partition, 0) >= offset for partition, offset in other.offsets)

    def advance(self, other: Cut) -> Cut:
        """The higher offset of each partition: a cut never goes back."""
        self._same_topic(other)
        return self._each(other, max)

    def meet(self, other: Cut) -> Cut:
        """The lower offset of each partition: where a query that feeds both must start."""
        self._same_topic(other)
        return self._each(other, min)

    def _each(self, other: Cut, choose: Callable[[int, int], int]) -> Cut:
        mine, theirs = dict(self.offsets), dict(other.offsets)
        both = mine.keys() | theirs.keys()
        return Cut.of(self.topic, {p: choose(mine.get(p, 0), theirs.get(p, 0)) for p in both})

    def span_to(self, end: Cut) -> Span:
        return Span(self, end)

    def to_json(self) -> str:
        """One line of JSON; `from_json` reads it back."""
        return json.dumps({"topic": self.topic, "offsets": {partition_name(p): o for p, o in self.offsets}})

    @classmethod
    def from_json(cls, text: str) -> Self:
        found = json.loads(text)
        return cls.of(found["topic"], {partition_named(p): int(o) for p, o in found["offsets"].items()})

    @classmethod
    def parse(cls, topic: str, text: str) -> Self:
        """The cut of a topic that is written as `str` writes it, or with commas.

        >>> Cut.parse("t", "0:5,1:7") == Cut.parse("t", "1:7 0:5"), str(Cut.parse("t", "0"))
        (True, '0')
        """
        places = text.replace(",", " ").split()
        pairs = [place.split(":") for place in places if places != ["0"]]
        return cls.of(topic, {partition_named(partition): int(offset) for partition, offset in pairs})

    def __str__(self) -> str:
        return " ".join(f"{partition_name(p)}:{o}" for p, o in self.offsets) or "0"


@dataclass(frozen=True)
class Span:
    """The events from one cut (inclusive) up to another (exclusive)."""

    start: Cut
    end: Cut

    def __post_init__(self) -> None:
        if not self.end.covers(self.start):
            raise ValueError(f"a span can't end before it starts: {self.start} .. {self.end}")

    def __contains__(self, event: tuple[int, int]) -> bool:
        partition, offset = event
        return self.start[partition] <= offset < self.end[partition]

    @property
    def records(self) -> int:
        """How many offsets the span holds: the number of its records, but for gaps that transactions leave.

        A packed record holds many events, so this does not tell how many there are.
        """
        return sum(offset - self.start[partition] for partition, offset in self.end)

    def steps(self, most: int) -> Iterator[Cut]:
        """Cuts on the way to the end, all partitions at the same pace, about `most` records from one to the next.

        >>> [str(cut) for cut in Cut.of("t", {0: 10}).span_to(Cut.of("t", {0: 20, 1: 4})).steps(5)]
        ['0:13 1:1', '0:16 1:2', '0:20 1:4']
        """
        count, last = -(-self.records // most), self.start
        for step in range(1, count + 1):
            offsets = {p: self.start[p] + (end - self.start[p]) * step // count for p, end in self.end}
            cut = Cut.of(self.end.topic, offsets)
            if cut != last:
                yield cut
            last = cut

    def __bool__(self) -> bool:
        return self.start != self.end
