"""Corrections: what is appended when an event was wrong. Nothing in the log is ever changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from tarnbeck.cut import HISTORY, Cut
from tarnbeck.errors import UsageError, unknown
from tarnbeck.log import topics
from tarnbeck.log.follow import follow
from tarnbeck.log.lines import cell
from tarnbeck.log.pack import key_of
from tarnbeck.log.produce import Sender, Sent, ours
from tarnbeck.log.settings import LogSettings
from tarnbeck.schema import strict
from tarnbeck.schema.decode import RECORDS, decode
from tarnbeck.schema.stream import Stream
from tarnbeck.schema.strict import Number
from tarnbeck.schema.types import DOUBLE, INT, LONG, Decimal

Place = tuple[int, int, int]
"""Partition, offset, and the place inside of a packed record, 0 in a plain one."""
CORRECTS, REASON = "tarnbeck-corrects", "tarnbeck-reason"
"""The headers of a correction: the place of the event that was wrong, and why it was."""


@dataclass(frozen=True)
class Correction:
    """An event, what was appended because it was wrong, and where that went."""

    wrong: bytes
    appended: tuple[bytes, ...]
    sent: Sent


def correct(
    settings: LogSettings,
    stream: Stream,
    place: Place,
    *,
    changed: Mapping[str, str],
    taken_back: Sequence[str],
    reason: str,
) -> Correction:
    """Appends what makes up for the event at a place; each record says what it corrects, and why."""
    wrong = _found(settings, ours(stream, "correct"), place)
    values = corrections(stream, wrong, changed, taken_back)
    headers = [(CORRECTS, ":".join(map(str, place)).encode()), (REASON, reason.encode())]
    with Sender(settings, stream) as sender:
        for value in values:
            sender.send(value, key_of(stream, value), headers=headers)
        return Correction(wrong, tuple(values), sender.flush())


def corrections(
    stream: Stream, value: bytes | None, changed: Mapping[str, str], taken_back: Sequence[str]
) -> list[bytes]:
    """The event with numbers turned round, which takes back what it added; then the event as it should have been.

    Each is left out when nothing is said for it.
    """
    if not changed and not taken_back:
        raise UsageError("correct: say what is right (COLUMN=VALUE), what to take back (--take-back COLUMN), or both")
    event, known = _event(stream, value), stream.schema.names
    for name in (*changed, *taken_back):
        if name not in known:
            raise UsageError(unknown("correct", "column", name, known, f"stream '{stream.name}'"))
    found = []
    if taken_back:
        found.append(_object(event | {name: _turned(stream, name, event.get(name)) for name in taken_back}))
    if changed:
        right = event | {name: _value(stream, name, text) for name, text in changed.items()}
        found.append(_object(right))
    reasons = _reasons(stream, found)
    if reasons:
        raise UsageError(f"correct: stream '{stream.name}' would not take it: {reasons[0]}\n  nothing was sent")
    return found


def _event(stream: Stream, value: bytes | None) -> dict[str, object]:
    reasons = _reasons(stream, [value])
    if reasons:
        raise UsageError(
            f"correct: stream '{stream.name}': there is no event at this place ({reasons[0]})\n"
            "  what can't be decoded is in quarantine and counts nowhere: send the right event"
        )
    return strict.load(value)


def _reasons(stream: Stream, values: Sequence[bytes | None]) -> list[str]:
    """Why values would go to quarantine."""
    count = len(values)
    columns = [[0] * count, list(range(count)), [0] * count, [None] * count, list(values), [None] * count]
    arrays = [pa.array(each, field.type) for each, field in zip(columns, RECORDS, strict=True)]
    found: list[str] = decode(stream, pa.Table.from_arrays(arrays, schema=RECORDS)).rejects.column("reason").to_pylist()
    return found


def _turned(stream: Stream, name: str, value: object) -> object:
    """A number with the other sign; what has no number added nothing."""
    type_ = stream.schema[name].type
    if type_ not in (INT, LONG, DOUBLE) and not isinstance(type_, Decimal):
        raise UsageError(f"correct: column '{name}' is no number ({type_}), so it can't be taken back")
    if isinstance(value, Number):
        return Number(value[1:] if value.startswith("-") else f"-{value}")
    return -value if isinstance(value, int) else value


def _value(stream: Stream, name: str, text: str) -> object:
    """A value as it is given on the command line, read as a cell of a CSV file is."""
    return strict.load(f'{{"it":{cell(stream.schema[name].type)(text)}}}'.encode())["it"] if text else None


def _object(event: Mapping[str, object]) -> bytes:
    return strict.raw(dict(event)).encode()


def _found(settings: LogSettings, stream: Stream, place: Place) -> bytes:
    """The event at a place as JSON."""
    partition, offset, index = place
    if partition == HISTORY:
        raise UsageError(
            f"correct: stream '{stream.name}': what came from files is in the lake, not in the log\n"
            f"  append what makes up for it: tarnbeck send {stream.name} FILE"
        )
    end = topics.end(settings, stream.topic)
    if end[partition] > offset:
        start, until = (Cut.of(end.topic, {partition: at}) for at in (offset, offset + 1))
        found = list(follow(settings, stream.topic, start, until=until))
        events = found[0].events() if found else []
        if index < len(events):
            return events[index]
    raise UsageError(
        f"correct: stream '{stream.name}': there is no event at {':'.join(map(str, place))}\n  it ends at {end}"
    )
