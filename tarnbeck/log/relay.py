"""Moves what is made of one topic into another exactly once: what was written tells how far was read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from confluent_kafka import KafkaException, Producer

from tarnbeck.cut import Cut
from tarnbeck.errors import LogError
from tarnbeck.log import topics
from tarnbeck.log.client import TIMEOUT, Reasons, failure
from tarnbeck.log.follow import SOURCE, Record, batches, follow
from tarnbeck.log.settings import LogSettings

PATIENCE = 0.05
"""Seconds that a record waits for others at most."""
MOST = 5_000
"""Records that one transaction reads."""
NEAR = 64
"""Offsets before the end among which the last record is looked for first."""


@dataclass(frozen=True)
class Outgoing:
    """One record to be written."""

    value: bytes
    key: bytes | None
    timestamp: datetime


Make = Callable[[Sequence[Record]], Iterable[Outgoing]]


def relay(
    log: LogSettings,
    source: str,
    target: str,
    begin: Cut,
    make: Make,
    *,
    stop: Callable[[], bool],
    told: Callable[[int], None] = lambda _: None,
) -> None:
    """Writes what `make` makes of each batch of the source's records, in one transaction each, until `stop()`.

    Every record that is written carries the cut up to which the source had been read. A successor first ends what its
    predecessor left open, then finds that cut at the end of the target and goes on there; where nothing was made,
    reading again makes nothing again. Two at once can't be: the later one shuts the earlier one out.
    """
    reasons = Reasons()
    writer = Producer(
        {
            **log.client(),
            "transactional.id": f"tarnbeck-{target}",
            "partitioner": "murmur2_random",
            "compression.type": "lz4",
            "linger.ms": 5,
            "error_cb": reasons.note,
        }
    )
    try:
        writer.init_transactions(TIMEOUT)
        at = reached(log, target, begin)
        for records in batches(log, source, at, stop=stop, most=MOST, patience=PATIENCE):
            at = _move(writer, target, at, records, make)
            told(len(records))
    except KafkaException as error:
        raise failure(log, f"write topic '{target}'", error, reasons) from error


def _move(writer: Producer, target: str, at: Cut, records: Sequence[Record], make: Make) -> Cut:
    ends = {record.partition: record.offset + 1 for record in records}
    after = at.advance(Cut.of(at.topic, ends))
    made = list(make(records))
    if not made:
        return after
    header = [(SOURCE, after.to_json().encode())]
    writer.begin_transaction()
    for each in made:
        stamp = round(each.timestamp.timestamp() * 1000)
        while True:
            try:
                writer.produce(target, each.value, each.key, timestamp=stamp, headers=header)
                break
            except BufferError:
                writer.poll(0.1)
        writer.poll(0)
    writer.commit_transaction(TIMEOUT)
    return after


def reached(log: LogSettings, target: str, begin: Cut) -> Cut:
    """How far the source had been read when the last record of the target was written."""
    first, end = topics.beginning(log, target), topics.end(log, target)
    back, found = NEAR, begin
    missing = {partition for partition, offset in end if offset > first[partition]}
    while missing:
        start = {p: max(first[p], end[p] - back) if p in missing else end[p] for p, _ in end}
        seen = set()
        for record in follow(log, target, Cut.of(end.topic, start), until=end):
            seen.add(record.partition)
            found = found.advance(_source(record, target, begin))
        # Aborted transactions leave offsets without records, so the last one may stand farther back.
        missing = {p for p in missing - seen if start[p] > first[p]}
        back *= 16
    return found


def _source(record: Record, target: str, begin: Cut) -> Cut:
    cut = None if record.source is None else Cut.from_json(record.source.decode())
    if cut is None or cut.topic != begin.topic:
        raise LogError(
            f"log: topic '{target}' holds a record at {record.partition}:{record.offset} that was not derived from its "
            "source\n  derive into a topic that nothing else is sent to"
        )
    return cut
