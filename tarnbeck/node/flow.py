"""How much went through each part of the node: records and bytes, in all since it was started, and per second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Counts = Mapping[str, Sequence[int]]
"""Of each part, records and bytes since the report before."""


class Flow:
    """Sums up what the parts report; a part that is not in the newest report stands still."""

    def __init__(self) -> None:
        self._totals: dict[str, tuple[int, int]] = {}
        self._rates: dict[str, tuple[float, float]] = {}

    def take(self, counts: Counts, seconds: float) -> None:
        rates = {}
        for part, (records, size) in counts.items():
            before = self._totals.get(part, (0, 0))
            self._totals[part] = before[0] + records, before[1] + size
            rates[part] = round(records / seconds, 1), round(size / seconds, 1)
        self._rates = rates

    def of(self, part: str) -> dict[str, Any]:
        """A part's figures.

        >>> flow = Flow()
        >>> flow.take({"speed": (10, 950)}, 0.5)
        >>> flow.of("speed")
        {'rate': 20.0, 'byte_rate': 1900.0, 'records': 10, 'bytes': 950}
        """
        (rate, bytes_), (records, size) = self._rates.get(part, (0.0, 0.0)), self._totals.get(part, (0, 0))
        return {"rate": rate, "byte_rate": bytes_, "records": records, "bytes": size}
