"""A snapshot without its epochs: what the batch layer has merged, for those who want to see what speed adds to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from tarnbeck.store.protocol import Row, Snapshot
from tarnbeck.store.state import VersionState


class Batched:
    """The generations of a snapshot alone, at the cuts they stand at."""

    def __init__(self, whole: Snapshot) -> None:
        self._whole = whole

    @cached_property
    def versions(self) -> Mapping[str, VersionState]:
        return {name: _generation_of(version) for name, version in self._whole.versions.items()}

    def parts(self, view: str, **wanted: Any) -> list[Iterator[Row]]:
        return self._whole.parts(view, **wanted)[:1] if self.versions[view].generation else []

    def newest(self, view: str, epoch: int | None) -> int | None:
        return None if epoch is not None else self._whole.newest(view, None)


def _generation_of(version: VersionState) -> VersionState:
    cut = version.generation.cut if version.generation else version.origin
    return replace(version, cut=cut, epochs=())
