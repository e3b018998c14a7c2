"""The protocol's rules that layers keep, not the store: simulated layers ask here, ablations replace one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tarnbeck.cut import Cut
from tarnbeck.store.state import Feeder, Intent

if TYPE_CHECKING:
    from tests.simulator.log import Event, Log

Position = tuple[Cut | None, Cut | None]
"""Where a streaming query stands, and the end of a batch it has planned but not committed."""


def readable_end(records: Sequence[str]) -> int:
    """Plans end at the last stable offset: before the first record of an open transaction."""
    return records.index("T") if "T" in records else len(records)


def lands(version: int, newest: int) -> bool:
    """A lake table takes each intent once."""
    return version > newest


def numbered_by(writer: str) -> str:
    """Whoever loads files and whoever mirrors the log count the versions of a lake table each for itself."""
    return writer


def with_history(cut: Cut, lake: Cut) -> Cut:
    """A generation takes in all of the history that the lake has."""
    return cut.with_history(lake.history)


def newest_version(versions: Sequence[int | None]) -> int:
    """The newest version is found behind commits that carry none, such as OPTIMIZE."""
    return next((version for version in reversed(versions) if version is not None), 0)


def quarantined_once(version: int) -> int:
    """The quarantine table is written under the intent's version, as the events are."""
    return version


def resumed(intent: Intent | None) -> Intent | None:
    """A successor redoes an open intent over exactly the same span."""
    return intent


def lake_end(start: Cut, planned: Cut, rows: Sequence[Event]) -> Cut:
    """The lake's cut comes from the planned offsets, not from the rows seen: markers leave gaps."""
    del start, rows
    return planned


def worth_committing(rows: Sequence[Event]) -> bool:
    """A micro-batch without rows still commits its cut."""
    del rows
    return True


def gap(log: Log, cut: Cut) -> bool:
    """A read from below the log's first offset is refused, checked after the read; such a view is left out."""
    return log.lost(cut)


def restarted(position: Position) -> Position:
    """Every start of the query uses a new checkpoint: it begins at the store's cuts."""
    del position
    return None, None


def must_rewind(lowest: Cut, position: Cut) -> bool:
    """A fed view whose cut is behind the query's position restarts it at the lowest fed cut."""
    return not lowest.covers(position)


def after_refusal(position: Position) -> Position:
    """A refused commit restarts the query."""
    return restarted(position)


def start_for(view: Cut, position: Cut) -> Cut:
    """A view takes the rows from its own cut on, not from the batch's start."""
    del position
    return view


def fenced_restarts() -> bool:
    """A fenced writer ends and is not restarted by itself."""
    return False


def may_leap(log: Log, cut: Cut, wanted: bool) -> bool:
    """A batch must leap when the view's cut is below the log's first offset."""
    return wanted or log.lost(cut)


def falls_back() -> bool:
    """A refused leap goes on with the cut that was rolled."""
    return True


def origin(log: Log) -> Cut:
    """A stream's chains begin where the log began when it was registered."""
    return log.beginning()


def feeder(replayed: bool) -> Feeder:
    """Without a batch layer a new version starts at the origin, under a replay writer."""
    return Feeder.REPLAY if replayed else Feeder.LIVE


def replays_from_lake() -> bool:
    """Replay reads from the lake what the log no longer holds."""
    return True


def in_one_snapshot() -> bool:
    """A read takes alias, generation, epochs and cut from one snapshot."""
    return True


def in_one_switch() -> bool:
    """All views of a deploy switch in one transaction."""
    return True
