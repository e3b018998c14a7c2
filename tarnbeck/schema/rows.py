"""Decoding event by event: slow, strict, and the authority on what is wrong with each one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from zoneinfo import ZoneInfo

import pyarrow as pa

from tarnbeck.schema import literal
from tarnbeck.schema.ddl import arrow
from tarnbeck.schema.decoded import EXTRA, TIME, Decoded, assemble, refused, required
from tarnbeck.schema.literal import OF_EVENTS, epoch_micros, wrong
from tarnbeck.schema.stream import Arrival, Epoch, FromColumn, Stream
from tarnbeck.schema.strict import Reject, load, raw, shorten
from tarnbeck.schema.types import Array, Column, Map, Struct, Type

LONGEST_REASON = 300
"""Reasons name fields, and a field's name may be as long as an event."""

Extra = dict[str, str]
"""Path of a field that is not declared -> its JSON text."""
Read = Callable[[object, str, Extra], object]
Members = Callable[[dict[str, object], str, Extra], dict[str, object]]


def decode_rows(stream: Stream, entries: pa.Table) -> Decoded:
    """Each entry's event, or the reason why it is none."""
    read = event_reader(stream)
    good: list[int] = []
    bad: list[int] = []
    reasons: list[str] = []
    rows: list[dict[str, object]] = []
    times: list[int] = []
    extras: list[list[tuple[str, str]] | None] = []
    received = entries.column("timestamp").cast(pa.int64()).to_pylist()
    for at, value in enumerate(entries.column("value").to_pylist()):
        try:
            row, time, extra = read(value, received[at])
        except Reject as reject:
            bad.append(at)
            reasons.append(shorten(str(reject), LONGEST_REASON))
        else:
            good.append(at)
            rows.append(row)
            times.append(time)
            extras.append(sorted(extra.items()) or None)
    columns = [pa.array([row[column.name] for row in rows], arrow(column.type)) for column in stream.schema]
    events = assemble(stream, _at(entries, good), pa.array(times, TIME), columns, pa.array(extras, EXTRA))
    return Decoded(events, refused(_at(entries, bad), reasons))


def _at(entries: pa.Table, places: list[int]) -> pa.Table:
    return entries.take(pa.array(places, pa.int64()))


@functools.lru_cache(maxsize=64)
def event_reader(stream: Stream) -> Callable[[bytes | None, int | None], tuple[dict[str, object], int, Extra]]:
    """What reads one record's value and timestamp into the declared columns, the event time and the other fields."""
    members = _members(required(stream), _top_level(stream))
    time_of = _event_time(stream)

    def read(value: bytes | None, received: int | None) -> tuple[dict[str, object], int, Extra]:
        extra: Extra = {}
        row = members(load(value), "", extra)
        return row, time_of(row, received), extra

    return read


def _top_level(stream: Stream) -> dict[str, Read]:
    """Readers of columns that mean more than their type: the event time has its years, and may be local by its zone."""
    if isinstance(stream.time, FromColumn):
        zone = None if stream.time.zone is None else ZoneInfo(stream.time.zone)
        return {stream.time.column: _plain(literal.timestamp(zone, OF_EVENTS))}
    return {}


def _event_time(stream: Stream) -> Callable[[dict[str, object], int | None], int]:
    match stream.time:
        case Epoch(column, unit):
            return lambda row, _: epoch_micros(row[column], unit, column)
        case FromColumn(column):
            return lambda row, _: row[column]  # type: ignore[return-value]
        case Arrival():
            return lambda _, received: _arrival(received)


def _arrival(received: int | None) -> int:
    if received is None or not OF_EVENTS.first <= received <= OF_EVENTS.last:
        raise Reject(f"the record has no timestamp within the years {OF_EVENTS.name}")
    return received


def _reader(column_type: Type) -> Read:
    match column_type:
        case Struct(columns):
            return _struct(columns)
        case Array(element):
            return _array(_reader(element))
        case Map(value):
            return _map(_reader(value))
    return _plain(literal.reader(column_type))


def _plain(read: literal.Read) -> Read:
    return lambda value, path, _: read(value, path)


def _members(columns: Iterable[Column], special: dict[str, Read]) -> Members:
    readers = [(column.name, special.get(column.name) or _reader(column.type), column.nullable) for column in columns]
    declared = {name for name, _, _ in readers}

    def read(found: dict[str, object], prefix: str, extra: Extra) -> dict[str, object]:
        row: dict[str, object] = {}
        for name, read_member, nullable in readers:
            value = found.get(name)
            if value is not None:
                row[name] = read_member(value, prefix + name, extra)
            elif nullable:
                row[name] = None
            else:
                raise Reject(f"{prefix}{name}: {'null' if name in found else 'missing'}")
        if not found.keys() <= declared:
            _keep(found, declared, prefix, extra)
        return row

    return read


def _keep(found: dict[str, object], declared: set[str], prefix: str, extra: Extra) -> None:
    for name, value in found.items():
        if name in declared:
            continue
        path = prefix + name
        if path in extra:
            raise Reject(f"duplicate key {path!r}")
        try:
            extra[path] = raw(value)
        except Reject as reject:
            raise Reject(f"{path}: {reject}") from None


def _struct(columns: tuple[Column, ...]) -> Read:
    members = _members(columns, {})

    def read(value: object, path: str, extra: Extra) -> object:
        if type(value) is not dict:
            raise wrong(path, "an object", value)
        return members(value, path + ".", extra)

    return read


def _array(read_element: Read) -> Read:
    def read(value: object, path: str, extra: Extra) -> object:
        if type(value) is not list:
            raise wrong(path, "an array", value)
        return [
            None if item is None else read_element(item, f"{path}[{place}]", extra) for place, item in enumerate(value)
        ]

    return read


def _map(read_value: Read) -> Read:
    def read(value: object, path: str, extra: Extra) -> object:
        if type(value) is not dict:
            raise wrong(path, "an object", value)
        return [
            (key, None if item is None else read_value(item, f"{path}.{key}", extra)) for key, item in value.items()
        ]

    return read
