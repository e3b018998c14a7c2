"""How far every part is: cuts against the log's end, in records and seconds."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any

from tarnbeck.cut import Cut
from tarnbeck.errors import TarnbeckError
from tarnbeck.log import topics
from tarnbeck.log.settings import LogSettings
from tarnbeck.store import rules
from tarnbeck.store.definitions import stream_of
from tarnbeck.store.protocol import Store
from tarnbeck.store.state import VersionState

EVERY = 1.0
RECENT = 10
"""Samples over which a rate is told."""
KEPT = 900
"""Samples of the log's ends: lag in seconds is told up to a quarter of an hour."""

Ends = dict[str, Cut]


class Watch:
    """Samples where the log ends, so that a lag of records can be told as a lag of seconds."""

    def __init__(self, log: LogSettings, store: Store) -> None:
        self._log, self._store = log, store
        self._samples: deque[tuple[float, Ends]] = deque(maxlen=KEPT)
        self.error: str | None = None

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            self.sample()
            stop.wait(EVERY)

    def sample(self) -> Ends:
        try:
            streams = self._store.streams()
            ends = {name: topics.end(self._log, stream_of(state).topic) for name, state in streams.items()}
        except TarnbeckError as error:
            self.error = str(error)
            return self.ends
        self.error = None
        self._samples.append((time.monotonic(), ends))
        return ends

    @property
    def ends(self) -> Ends:
        return self._samples[-1][1] if self._samples else {}

    def lag(self, stream: str, cut: Cut) -> tuple[int, float]:
        """Records between the cut and the log's end, and for how many seconds the first of them has been waiting."""
        end = self.ends.get(stream)
        if end is None or cut.covers(end):
            return 0, 0.0
        waiting = (at for at, ends in self._samples if stream in ends and not cut.covers(ends[stream]))
        return cut.meet(end).span_to(end).records, round(time.monotonic() - next(waiting), 1)

    def rate(self, stream: str) -> float:
        """Records per second that the log got lately."""
        recent = [(at, ends[stream]) for at, ends in list(self._samples)[-RECENT:] if stream in ends]
        if len(recent) < 2:
            return 0.0
        (began, first), (ended, last) = recent[0], recent[-1]
        return round(first.meet(last).span_to(last).records / (ended - began), 1)


def views(store: Store, watch: Watch) -> list[dict[str, Any]]:
    versions = store.versions()
    found = []
    for view, alias in sorted(store.aliases().items()):
        version = versions[alias]
        records, seconds = watch.lag(version.stream, version.cut)
        found.append(
            {
                "view": view,
                "version": version.id,
                "stream": version.stream,
                "state": "answering" if rules.answerable(version) else "building",
                "cut": str(version.cut),
                "records": version.origin.span_to(version.cut).records,
                "lag_records": records,
                "lag_seconds": seconds,
                "generation_cut": str(version.generation.cut) if version.generation else None,
                "generation_records": _records(version),
                "epochs": len(version.epochs),
            }
        )
    return found


def _records(version: VersionState) -> int:
    """How many records the batch layer has merged."""
    return version.origin.span_to(version.generation.cut).records if version.generation else 0


def streams(store: Store, watch: Watch) -> list[dict[str, Any]]:
    found = []
    for name, state in sorted(store.streams().items()):
        records, seconds = watch.lag(name, state.lake_cut)
        owner, end = stream_of(state).owner, watch.ends.get(name, state.origin)
        found.append(
            {
                "stream": name,
                "owner": None if owner is None else owner.app,
                "topic": state.topic,
                "origin": str(state.origin),
                "end": str(end),
                "records": state.origin.span_to(state.origin.advance(end)).records,
                "lake_cut": str(state.lake_cut),
                "lake_records": state.origin.span_to(state.lake_cut).records,
                "rate": watch.rate(name),
                "lag_records": records,
                "lag_seconds": seconds,
            }
        )
    return found
