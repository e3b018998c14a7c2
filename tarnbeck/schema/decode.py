"""Records of the log -> events and rejects: the one decoding that lake, speed, memory and audit share."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from tarnbeck.schema.decoded import RECORDS, REJECTS, Decoded, events_schema
from tarnbeck.schema.fast import decode_batch, plan
from tarnbeck.schema.rows import decode_rows
from tarnbeck.schema.stream import Stream

__all__ = ["RECORDS", "REJECTS", "Decoded", "decode", "events_schema"]

BATCH = 8192
"""Records decoded at once: enough to be quick, few enough to stay in a processor's cache."""
PARTS = 8
"""Into how many parts a batch with a doubtful record is cut, so that one bad event slows down only its neighbours."""
FEW = 1024
"""Records so few that they are decoded row by row when in doubt: pyarrow costs a tenth of a millisecond per call."""
MOST_BYTES = 64 << 20


def decode(stream: Stream, records: pa.Table) -> Decoded:
    """The events that records hold, in their order, and the records that hold none, with the reasons.

    `records` has the columns of RECORDS. The same records give the same result wherever and however they are batched.
    """
    records = records.select(RECORDS.names).cast(RECORDS)
    parts = [
        part for start in range(0, records.num_rows, BATCH) for part in _parts(stream, records.slice(start, BATCH))
    ]
    return Decoded(
        pa.concat_tables([events_schema(stream).empty_table(), *(part.events for part in parts)]),
        pa.concat_tables([REJECTS.empty_table(), *(part.rejects for part in parts)]),
    )


def _parts(stream: Stream, records: pa.Table) -> Iterator[Decoded]:
    events = decode_batch(stream, records) if _small(records) else None
    if events is not None:
        yield Decoded(events, REJECTS.empty_table())
    elif records.num_rows <= FEW or plan(stream) is None or _mostly_odd(stream, records):
        yield decode_rows(stream, records)
    else:
        step = -(-records.num_rows // PARTS)
        for start in range(0, records.num_rows, step):
            yield from _parts(stream, records.slice(start, step))


def _small(records: pa.Table) -> bool:
    return bool((pc.sum(pc.binary_length(records.column("value"))).as_py() or 0) <= MOST_BYTES)


def _mostly_odd(stream: Stream, records: pa.Table) -> bool:
    """Whether a sample says that ever smaller parts would be in doubt too, as when every event has unknown fields."""
    sample = records.take([0, records.num_rows // 2, records.num_rows - 1])
    return bool(decode_rows(stream, sample).events.column("_extra").null_count < 2)
