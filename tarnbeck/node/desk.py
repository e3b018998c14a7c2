"""What jobs of a node work with, and the words they speak in."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tarnbeck.batch.layer import Source
from tarnbeck.log.settings import LogSettings
from tarnbeck.store.protocol import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Job = dict[str, Any]
Update = dict[str, Any]
Tell = Callable[[Update], None]


@dataclass(frozen=True)
class Desk:
    """A Spark session, and the log, store and lake of one application."""

    spark: SparkSession
    log: LogSettings
    store: Store
    root: str
    stop: threading.Event

    @property
    def source(self) -> Source:
        return Source(self.spark, self.log, self.store, self.root)
