"""Random orders, pauses and restarts: what is told is what a recount of all orders tells, whenever the node ended."""

from __future__ import annotations

import datetime
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tarnbeck.alert.state import Timing
from tests.alert.shop import START, Watched, busy
from tests.alert.test_state import oracle
from tests.effort import tries

LASTING, EVERY, LAST, MOST = 8, 30, 90, 10
Step = tuple[str, int]
steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["pear", "plum"]), st.integers(-15, 25)),
        st.tuples(st.just("pause"), st.integers(1, 50)),
        st.tuples(st.just("restart"), st.just(0)),
    ),
    max_size=25,
)


def told_by_recount(done: list[Step]) -> list[tuple[int, str, str]]:
    """At each second: of each item the pieces of this minute, or of its last one, if that is not too long ago."""
    now, orders = 0, list[tuple[int, str, int]]()
    held: dict[str, list[tuple[int, bool]]] = {"pear": [], "plum": []}
    for what, number in done:
        if what in held:
            orders.append((now, what, number))
        for _ in range(number if what == "pause" else 0):
            now += 1
            for item, sequence in held.items():
                minutes = [moment // 60 for moment, ordered, _ in orders if ordered == item]
                newest = max(minutes, default=-1000)
                pieces = sum(n for moment, ordered, n in orders if ordered == item and moment // 60 == newest)
                sequence.append((now, pieces > MOST and (newest + 1) * 60 > now - LAST))
    timing = Timing(LASTING, EVERY)
    return sorted((now, item, state) for item, sequence in held.items() for now, state in oracle(timing, sequence))


@settings(max_examples=tries(60))
@given(steps)
def test_what_is_told_is_what_a_recount_tells_whenever_the_node_was_started_again(done: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        options: dict[str, Any] = {
            "when": f"pieces > {MOST}",
            "lasting": f"{LASTING}s",
            "every": f"{EVERY}s",
            "last": f"{LAST}s",
        }
        shop = Watched(Path(folder), lambda app: busy(app, **options))
        for what, number in done:
            if what == "pause":
                shop.tick(number)
            elif what == "restart":
                shop.restarted()
            else:
                shop.order(what, number, minute=(shop.clock() - START) / 60e6)
        found = [(_seconds(told["at"]), told["keys"]["item"], told["state"]) for told in shop.told()]
        shop.store.close()
    assert sorted(found) == told_by_recount(done)


def _seconds(text: str) -> int:
    return round(datetime.datetime.fromisoformat(text).timestamp() - START / 1e6)
