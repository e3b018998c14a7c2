"""What an example would have sent, what its app makes of that in memory, and a store that holds it."""

from __future__ import annotations

import functools
import itertools
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from tarnbeck.cut import Cut
from tarnbeck.examples.registry import EXAMPLES
from tarnbeck.node.loading import FILE, load
from tarnbeck.store.protocol import SPEED, Contribution
from tarnbeck.store.sqlite import SQLiteStore
from tarnbeck.testing import Run, run
from tests.serve.sample import TOPIC, register

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ENOUGH = {
    "bitcoin": 3000,
    "trading": 6000,
    "house": 3000,
    "wind": 5000,
    "visitors": 4000,
    "hashtags": 5000,
    "homes": 1600,
    "words": 1500,
    "cards": 12_000,
    "stock": 4500,
    "machines": 7000,
}
"""How many messages of a feed take it past its history."""
Row = dict[str, Any]


@dataclass(frozen=True)
class Message:
    """One message as it was sent."""

    stream: str
    value: bytes
    broken: bool


def sent(name: str, *, seed: int = 1, now: datetime = NOON) -> list[Message]:
    """The messages of a feed, as they would have been sent until now."""
    example = EXAMPLES[name]
    ticks = list(itertools.islice(example.feed(seed), ENOUGH[name]))
    moment = now - timedelta(seconds=sum(tick.gap for tick in ticks) / example.rate)
    found = []
    for tick in ticks:
        moment += timedelta(seconds=tick.gap / example.rate)
        found += [Message(tick.stream, tick.value(moment), tick.broken)] * tick.copies
    return found


def good(messages: Iterable[Message], stream: str) -> list[Row]:
    """The events of a stream that are whole, read by hand; `time` is a moment."""
    found = []
    for message in messages:
        if message.stream == stream and not message.broken:
            event = json.loads(message.value, parse_float=Decimal)
            time = event["time"]
            moment = datetime.fromisoformat(time) if isinstance(time, str) else datetime.fromtimestamp(time, UTC)
            found.append(event | {"time": moment})
    return found


def ran(name: str, messages: Iterable[Message], **more: Sequence[Row]) -> Run:
    """What the app answers over the messages, and over other events by stream."""
    by_stream: dict[str, list[Any]] = defaultdict(list)
    for message in messages:
        by_stream[message.stream].append(message.value)
    return run(load(EXAMPLES[name].app), {**by_stream, **more}, received=NOON)


@functools.cache
def played(name: str) -> tuple[list[Message], Run]:
    """An example that has run until noon."""
    messages = sent(name)
    return messages, ran(name, messages)


def stored(folder: Path, found: Run) -> None:
    """Puts what was found into a store in this folder, where it can be asked for."""
    store = SQLiteStore(folder / "store", clock=lambda: 0)
    register(store, found.app)
    store.set_meta(FILE, str(EXAMPLES[found.app.name].app))
    begin, end = Cut.of(TOPIC, {}), Cut.of(TOPIC, {0: 1_000_000})
    given = []
    for name, view in found.app.views.items():
        rows = [(*keys, level, pane, *states) for (keys, level, pane), states in found.partials[name].items()]
        schema = view.layout.arrow
        columns = list(zip(*rows, strict=True)) or [()] * len(schema)
        arrays = [pa.array(list(values), each.type) for values, each in zip(columns, schema, strict=True)]
        table = pa.Table.from_arrays(arrays, schema=schema)
        given.append(Contribution(store.aliases()[name], begin, end, view.layout, table))
    done = store.commit(store.take_token(SPEED), given)
    assert not done.refused
    store.close()
