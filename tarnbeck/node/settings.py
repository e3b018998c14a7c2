"""What a node is told when it starts: where its data stands and which parts are somebody else's."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from tarnbeck.log.settings import LogSettings

HOST = "127.0.0.1"
PORT = 8787


@dataclass(frozen=True)
class Settings:
    """One folder holds everything; a broker or lake of one's own is named by its address."""

    folder: Path
    broker: str | None = None
    properties: tuple[tuple[str, str], ...] = ()
    host: str = HOST
    port: int = PORT
    batch_every: int | None = None
    master: str = "local[2]"
    lake: str | None = None
    app: Path | None = None
    """The file that declares the application, which the node's other processes load for the aggregates in it."""
    token: str | None = None
    """What allows to change things over HTTP; a new one at each start if it is not given."""

    @property
    def store(self) -> Path:
        return self.folder / "store"

    @property
    def lake_root(self) -> str:
        lake = self.lake or str(self.folder / "lake")
        return lake if ":/" in lake else str(Path(lake).absolute())

    def log(self, embedded: str | None = None) -> LogSettings:
        """How to reach the log: the broker that was named, else the embedded one at this address."""
        return LogSettings(self.broker or embedded or "", self.properties)

    def to_json(self) -> str:
        """For a process of the same node; it holds secrets, so it goes through a pipe and never into a file or log."""
        return json.dumps(asdict(self), default=str)

    @classmethod
    def from_json(cls, text: str) -> Self:
        found = json.loads(text)
        properties = tuple((name, value) for name, value in found.pop("properties"))
        app = None if found["app"] is None else Path(found["app"])
        return cls(**{**found, "folder": Path(found["folder"]), "app": app}, properties=properties)
