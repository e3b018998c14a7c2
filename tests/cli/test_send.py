"""`send --pack` and `tail` on a real broker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tarnbeck as tb
from tarnbeck.cli import main
from tarnbeck.cut import Cut
from tarnbeck.log import topics
from tarnbeck.log.broker import Broker
from tarnbeck.plan.definition import of_stream
from tarnbeck.serve.clock import now
from tarnbeck.store.sqlite import SQLiteStore

pytestmark = pytest.mark.broker


def test_events_are_packed_counted_and_followed_one_by_one(broker: Broker, topic_name: str, tmp_path: Path) -> None:
    stream = tb.App("shop").stream("orders", "time timestamp, item string", time="time", key="item", topic=topic_name)
    state = topics.ensure(broker.settings, stream)
    with_store = SQLiteStore(tmp_path / "store", now)
    with_store.register_stream(
        "orders", json.dumps(of_stream(stream)), state.id, Cut.of(state.id, {}), Cut.of(state.id, {})
    )
    with_store.close()
    where = ["--broker", broker.settings.bootstrap, "--folder", str(tmp_path)]
    lines = [f'{{"time":"2026-03-01T10:00:00Z","item":"{item}"}}' for item in ("pear", "plum") * 500]
    file = tmp_path / "events.json"
    file.write_text("\n".join([*lines, "broken"]))
    run = CliRunner().invoke

    sent = run(main.application(), ["send", "orders", str(file), "--pack", "--json", *where])
    assert sent.exit_code == 0, sent.output
    told = json.loads(sent.output)
    assert (told["acknowledged"], told["failed"]) == (1001, [])
    assert sum(offset for _, offset in topics.end(broker.settings, topic_name)) <= 4

    tailed = run(main.application(), ["tail", "orders", "--from", "earliest", "--count", "1001", "--json", *where])
    events = [json.loads(line) for line in tailed.output.splitlines()]
    assert sorted(event["value"] for event in events) == sorted([*lines, "broken"])
    assert len({(event["partition"], event["offset"], event["index"]) for event in events}) == 1001
    for item in ("pear", "plum"):
        assert len({event["partition"] for event in events if f'"{item}"' in event["value"]}) == 1
