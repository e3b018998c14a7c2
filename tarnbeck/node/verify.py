"""The job that compares a view's versions before, or after, a switch."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tarnbeck.errors import UsageError
from tarnbeck.node.versions import known, newest_beside
from tarnbeck.serve.difference import Sample, compare
from tarnbeck.store.protocol import Store

PATIENCE = 30.0
"""Seconds that both versions may take to stand at one cut."""


def verify(store: Store, job: dict[str, Any]) -> Any:
    """Compares the version that answers with another: the newest one, or the one that is named."""
    aliases, versions = store.aliases(), store.versions()
    view, wanted = known(aliases, str(job["view"])), job.get("version")
    new = newest_beside(versions, view, aliases[view]) if wanted is None else int(wanted)
    if new not in versions or versions[new].view != view:
        raise UsageError(f"view '{view}': there is no version {new} of it\n  see: tarnbeck versions {view}")
    found = compare(store, view, aliases[view], new, patience=PATIENCE)
    return {**asdict(found), "cut": str(found.cut), "equal": found.equal, "samples": [_plain(s) for s in found.samples]}


def _plain(sample: Sample) -> dict[str, Any]:
    return {
        "level": sample.level,
        "keys": [str(key) for key in sample.keys],
        "start": sample.start,
        "old": _texts(sample.old),
        "new": _texts(sample.new),
    }


def _texts(row: dict[str, Any] | None) -> dict[str, str] | None:
    return None if row is None else {name: str(value) for name, value in row.items()}
