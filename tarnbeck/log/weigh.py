"""How many bytes the records of the log have, from a small sample."""

from __future__ import annotations

from collections.abc import Mapping

from tarnbeck.cut import Cut
from tarnbeck.log import topics
from tarnbeck.log.follow import follow
from tarnbeck.log.settings import LogSettings

SAMPLE = 10
"""Records of each partition that are weighed."""


def mean(settings: LogSettings, starts: Mapping[str, Mapping[int, int]]) -> float | None:
    """The mean size of the next records of the topics from these offsets on; None when there are none yet."""
    sizes: list[int] = []
    for topic, offsets in starts.items():
        end = topics.end(settings, topic)
        begin = Cut.of(end.topic, offsets).meet(end)
        until = end.meet(Cut.of(end.topic, {p: begin[p] + SAMPLE for p, _ in end}))
        sizes += [len(r.value or b"") + len(r.key or b"") for r in follow(settings, topic, begin, until=until)]
    return sum(sizes) / len(sizes) if sizes else None
