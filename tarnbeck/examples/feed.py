"""What feeds are made of: messages in their order, and everything that real feeds get wrong with them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

BROKEN = 0.002
LATE = 0.02
TWICE = 0.01
TIME, SECONDS = "@time", "@seconds"
"""What stands in a message for the time of its event: as ISO 8601, and as seconds since 1970."""


@dataclass(frozen=True)
class Tick:
    """One message to send `gap` mean intervals after the one before, `copies` times; its event is `age` old by then."""

    stream: str
    form: str
    gap: float = 0.0
    age: timedelta = timedelta()
    copies: int = 1
    broken: bool = False

    def value(self, now: datetime) -> bytes:
        """The message as it is sent at this moment."""
        moment = now - self.age
        text = self.form.replace(f'"{SECONDS}"', str(int(moment.timestamp())))
        text = text.replace(TIME, moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"))
        # Only a broken message holds what UTF-8 can't: there it stands for the bare byte.
        return text.encode("utf-8", "surrogateescape")


def form(**columns: Any) -> str:
    """A message with these columns.

    >>> form(time=TIME, tag="#tarn")
    '{"time":"@time","tag":"#tarn"}'
    """
    return json.dumps(columns, separators=(",", ":"), ensure_ascii=False)


def ages(length: timedelta, count: int) -> Iterator[timedelta]:
    """The ages of so many events that happened one after the other, the first of them this long ago.

    >>> [age.total_seconds() for age in ages(timedelta(minutes=1), 3)]
    [60.0, 40.0, 20.0]
    """
    return (length * (count - number) / count for number in range(count))


def spoiled(chance: random.Random, clean: Iterable[Tick], wrong: Mapping[str, Sequence[str]]) -> Iterator[Tick]:
    """A feed as networks deliver it: some events late by up to minutes, some twice, some broken."""
    for tick in clean:
        seconds = chance.expovariate(20.0)
        if chance.random() < LATE:
            seconds += chance.uniform(1, 180)
        aged = replace(tick, age=tick.age + timedelta(seconds=seconds))
        if chance.random() < BROKEN:
            yield replace(aged, form=chance.choice(wrong[tick.stream]), broken=True)
        else:
            yield replace(aged, copies=2 if chance.random() < TWICE else 1)
