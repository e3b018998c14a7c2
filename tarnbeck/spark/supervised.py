"""One supervised Structured Streaming query: starts where the store says, hands over planned spans, starts again."""

from __future__ import annotations

import logging
import shutil
import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tarnbeck.errors import TarnbeckError
from tarnbeck.log import weigh
from tarnbeck.log.settings import LogSettings
from tarnbeck.spark import kafka
from tarnbeck.spark.kafka import Starts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
LOOK = 0.2
"""Seconds between two looks at whether the query must stop, or start again elsewhere."""
FAR_OFF = 4
"""How many times too large or too small a bound may be: to change it, the query must start again."""


class Moved(TarnbeckError):
    """The store is not where this query reads from: start it again at the store's cuts."""


class Ended(TarnbeckError):
    """This query must end and not be started again, such as a writer whose role was taken over."""


@dataclass(frozen=True)
class MicroBatch:
    """The records of one planned span of every topic; `size` is what they likely weigh on average, if that is known."""

    records: DataFrame
    size: float | None
    starts: Mapping[str, Mapping[int, int]]
    ends: Mapping[str, Mapping[int, int]]


@dataclass(frozen=True)
class Query:
    """What to supervise: `starts` is asked at every start, because only the store knows the place.

    `misplaced` tells, again and again, whether the store wants a query that stands there elsewhere: Spark hands over
    nothing while a log is quiet, and what was declared meanwhile must not wait for the next event. `handle` gives the
    bytes that the records had. A micro-batch has at most `most` records, and about `most_bytes` bytes: Spark's Kafka
    source bounds offsets only, so bytes are bounded by the mean size of the records seen so far.
    """

    name: str
    log: LogSettings
    checkpoints: Path
    trigger: str
    most: int
    most_bytes: int
    starts: Callable[[], Starts]
    misplaced: Callable[[Starts], bool]
    handle: Callable[[MicroBatch], int]
    failed: Callable[[BaseException], None]


def run(spark: SparkSession, query: Query, stop: threading.Event) -> None:
    """Runs the query until `stop` is set or it has ended for good; whatever else goes wrong is told and tried again."""
    pause, size = FIRST_PAUSE, None
    while not stop.is_set():
        attempt = _Attempt(query, spark, size)
        cause = attempt.run(stop)
        # After a failure the records are weighed anew: they may be what it failed of.
        size = attempt.size if cause is None or isinstance(cause, Moved) else None
        if isinstance(cause, Ended):
            query.failed(cause)
            return
        if stop.is_set():
            # What a stop interrupts fails in Spark's words, and is redone by whoever goes on: no failure to tell.
            return
        if cause is None or isinstance(cause, Moved):
            logging.getLogger(__name__).info("%s starts again at the store's cuts", query.name)
            pause = FIRST_PAUSE
            continue
        query.failed(cause)
        pause = FIRST_PAUSE if attempt.handled else min(pause * 2, LONGEST_PAUSE)
        stop.wait(pause)


class _Attempt:
    """One run of the query, with a checkpoint folder of its own: Spark ignores startingOffsets in a used one."""

    def __init__(self, query: Query, spark: SparkSession, size: float | None) -> None:
        self.query, self.spark, self.size, self.most = query, spark, size, query.most
        self.checkpoint = query.checkpoints / f"{query.name}-{uuid.uuid4().hex[:12]}"
        self.cause: BaseException | None = None
        self.handled = 0
        self.starts: Starts = {}
        self.handling = threading.Lock()

    def run(self, stop: threading.Event) -> BaseException | None:
        """The reason why it ended; None when there is none but `stop`."""
        try:
            self.starts = self.query.starts()
            if not any(self.starts.values()):
                stop.wait(1)
                return None
            self._await(self._start(), stop)
        except Exception as error:  # the supervisor decides what to do with every kind of failure
            return self.cause or error
        finally:
            shutil.rmtree(self.checkpoint, ignore_errors=True)
        return self.cause

    def _start(self) -> StreamingQuery:
        if self.size is None:
            self.size = weigh.mean(self.query.log, self.starts)
        self.most = self._bound()
        records = kafka.live(self.spark, self.query.log, self.starts, most=self.most)
        return (
            records.writeStream.queryName(self.query.name)
            .foreachBatch(self._batch)
            .option("checkpointLocation", str(self.checkpoint))
            .trigger(processingTime=self.query.trigger)
            .start()
        )

    def _await(self, running: StreamingQuery, stop: threading.Event) -> None:
        done = threading.Event()

        def end_when_due() -> None:
            while not done.is_set():
                if stop.wait(LOOK) or self._misplaced():
                    running.stop()
                    return

        watcher = threading.Thread(target=end_when_due, name=f"{self.query.name}-stop", daemon=True)
        watcher.start()
        try:
            running.awaitTermination()
        finally:
            done.set()
            watcher.join()

    def _misplaced(self) -> bool:
        """Whether to start again elsewhere; a micro-batch that is being handled is never interrupted for that."""
        if not self.handling.acquire(blocking=False):
            return False
        try:
            if self.query.misplaced(self.starts):
                self.cause = Moved(f"{self.query.name}: the store has moved")
        except Exception as error:  # a store that can't be read is a failure like any other
            self.cause = error
        finally:
            self.handling.release()
        return self.cause is not None

    def _batch(self, records: DataFrame, number: int) -> None:
        with self.handling:
            # Once it is to start again elsewhere it takes no more: what Spark notes as done goes with the checkpoint.
            if self.cause is None:
                self._handle(records, number)

    def _handle(self, records: DataFrame, number: int) -> None:
        try:
            ends = kafka.planned(self.checkpoint, number)
            weight = self.query.handle(MicroBatch(records, self.size, self.starts, ends))
            count = sum(end - self.starts.get(t, {}).get(p, 0) for t, found in ends.items() for p, end in found.items())
            self.starts = ends
            self.handled += 1
            self._rebound(count, weight)
        except BaseException as error:
            # Spark gives back a text of what was raised here; the supervisor needs the thing itself.
            self.cause = error
            raise

    def _bound(self) -> int:
        """Records of one micro-batch at the most."""
        if self.size is None:
            return self.query.most
        return max(1, min(self.query.most, int(self.query.most_bytes // max(self.size, 1))))

    def _rebound(self, count: int, weight: int) -> None:
        """Starts again when a full micro-batch had records much larger or smaller than its bound was made for."""
        if not weight:
            # Markers of transactions only, or a span that was written before: nothing is learnt from it.
            return
        self.size = weight / count
        wanted = self._bound()
        if 2 * count >= self.most and not self.most / FAR_OFF <= wanted <= self.most * FAR_OFF:
            raise Moved(
                f"{self.query.name}: records have {self.size:,.0f} bytes now: {wanted:,} at once, not {self.most:,}"
            )
