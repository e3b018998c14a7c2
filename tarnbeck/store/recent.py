"""The states of open epochs as this process last wrote them, so that the next commit need not read them back."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from tarnbeck.cut import Cut
from tarnbeck.store.rows import Place, States
from tarnbeck.store.state import Epoch, VersionState

MOST = 250_000
"""How many rows are remembered, over all versions: about 100 MB."""


@dataclass(frozen=True)
class Known:
    """Rows of one epoch as of a cut; `all` when the epoch has no others."""

    epoch: int
    cut: Cut
    states: dict[Place, States]
    all: bool


class Recent:
    """What is known of each version's open epoch.

    Every commit that brings rows moves the version's cut, so knowledge holds exactly as long as epoch and cut are those
    of this process's own last commit; whoever else wrote meanwhile has moved the cut.
    """

    def __init__(self) -> None:
        self._known: dict[int, Known] = {}
        self._lock = threading.Lock()

    def take(self, version: VersionState, epoch: Epoch) -> Known:
        """What is known before a commit; it is forgotten until the commit has succeeded and `keep` brings it back."""
        with self._lock:
            found = self._known.pop(version.id, None)
        if found is not None and (found.epoch, found.cut) == (epoch.id, version.cut):
            return found
        return Known(epoch.id, version.cut, {}, all=epoch.start == version.cut)

    def keep(self, version: int, known: Known) -> None:
        with self._lock:
            if sum(len(other.states) for other in self._known.values()) + len(known.states) <= MOST:
                self._known[version] = known
