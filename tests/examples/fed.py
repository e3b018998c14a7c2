"""What an example would have sent, what its app makes of that in memory, and a store that holds it."""

from __future__ import annotations

import itertools
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa

from tarnbeck.app import App
from tarnbeck.cut import Cut
from tarnbeck.examples.registry import EXAMPLES
from tarnbeck.node.loading import FILE, load
from tarnbeck.store.protocol import SPEED, Contribution
from tarnbeck.store.sqlite import SQLiteStore
from tarnbeck.testing import Run, run
from tests.serve.sample import TOPIC, register

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SOME = 12_000
Sent = dict[str, list[bytes]]


def sent(name: str, *, count: int = SOME, seed: int = 1, now: datetime = NOON) -> Sent:
    """The messages of a feed, by stream, as they would have been sent until now."""
    example = EXAMPLES[name]
    ticks = list(itertools.islice(example.feed(seed), count))
    moment = now - timedelta(seconds=sum(tick.gap for tick in ticks) / example.rate)
    found: Sent = defaultdict(list)
    for tick in ticks:
        moment += timedelta(seconds=tick.gap / example.rate)
        found[tick.stream] += [tick.value(moment)] * tick.copies
    return found


def ran(name: str, messages: Sent) -> Run:
    return run(load(EXAMPLES[name].app), messages, received=NOON)


def stored(folder: Path, found: Run) -> None:
    """Puts what was found into a store in this folder, where commands ask for it."""
    store = SQLiteStore(folder / "store", clock=lambda: round(datetime.now(UTC).timestamp() * 1e6))
    app: App = found.app
    register(store, app)
    store.set_meta(FILE, str(EXAMPLES[app.name].app))
    token = store.take_token(SPEED)
    begin, end = Cut.of(TOPIC, {}), Cut.of(TOPIC, {0: 1_000_000})
    for name, view in app.views.items():
        rows = [(*keys, level, pane, *states) for (keys, level, pane), states in found.partials[name].items()]
        schema = view.layout.arrow
        columns = list(zip(*rows, strict=True)) or [()] * len(schema)
        table = pa.Table.from_arrays(
            [pa.array(list(values), each.type) for values, each in zip(columns, schema, strict=True)], schema=schema
        )
        done = store.commit(token, [Contribution(store.aliases()[name], begin, end, view.layout, table)])
        assert not done.refused
    store.close()
