"""What a running node can be told over HTTP: the contract between the node, the API and the command line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol


class Control(Protocol):
    """A node that tells how it is and does jobs."""

    def status(self) -> dict[str, Any]:
        """Its parts, streams and views: what runs, how far it is, how far behind, and its last error."""

    def run(self, job: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Does a job; updates while it runs, the last one {"result": ...} or {"error": {"kind", "message"}}."""
