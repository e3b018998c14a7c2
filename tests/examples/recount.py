"""What recounts of examples are made with: plain Python over the events that were sent, nothing of the product."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from tests.examples.fed import Row

UNIX = datetime(1970, 1, 1, tzinfo=UTC)
K = TypeVar("K", bound=Hashable)


def floor(moment: datetime, length: timedelta) -> datetime:
    return UNIX + (moment - UNIX) // length * length


def grouped(events: Iterable[Row], key: Callable[[Row], K]) -> dict[K, list[Row]]:
    """The events of each key, in the order of their times; of equal times, in the order in which they came."""
    found: dict[K, list[Row]] = defaultdict(list)
    for event in sorted(events, key=lambda each: each["time"]):
        found[key(event)].append(event)
    return found


def true_at(changes: list[Row], moment: datetime) -> Row | None:
    """The latest of one key's changes, in order, that had happened by then."""
    place = bisect_right([each["time"] for each in changes], moment)
    return changes[place - 1] if place else None
