"""An event from Python values into the JSON that decoding reads back to the same values."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import json
import math
from collections.abc import Callable, Mapping, Sequence

from tarnbeck.errors import UsageError
from tarnbeck.schema.rows import event_reader
from tarnbeck.schema.stream import Stream
from tarnbeck.schema.strict import Reject, shorten
from tarnbeck.schema.types import (
    BINARY,
    BOOL,
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    Array,
    Column,
    Decimal,
    Map,
    Struct,
    Type,
)


def to_json(stream: Stream, event: Mapping[str, object]) -> bytes:
    """The record value of one event; what decoding would refuse is refused here, before it is sent.

    Fields that the stream does not declare are written too, if they are plain JSON values.
    """
    place = f"stream '{stream.name}'"
    value = encoded(stream, event)
    try:
        event_reader(stream)(value, 0)
    except Reject as reject:
        raise UsageError(f"{place}: this event can't be sent: {reject}\n  declared: {stream.schema}") from None
    return value


def encoded(stream: Stream, event: Mapping[str, object]) -> bytes:
    """The record value of one event, whether decoding will take it or not."""
    text = _object(stream.schema.columns, event, f"stream '{stream.name}'")
    return text.encode("utf-8", errors="surrogatepass")


def _object(columns: Sequence[Column], event: object, place: str) -> str:
    if not isinstance(event, Mapping):
        raise _unfit(place, "a mapping", event)
    types = {column.name: column.type for column in columns}
    members = []
    for name, value in event.items():
        if not isinstance(name, str):
            raise _unfit(place, "a name as text", name)
        inner = f"{place}: column '{name}'"
        text = _text(types[name], value, inner) if name in types else _plain(value, inner)
        members.append(f"{_quoted(name)}:{text}")
    return "{" + ",".join(members) + "}"


def _text(column_type: Type, value: object, place: str) -> str:
    if value is None:
        return "null"
    match column_type:
        case Struct(columns):
            return _object(columns, value, place)
        case Array(element):
            if not isinstance(value, Sequence) or isinstance(value, str | bytes):
                raise _unfit(place, "a list", value)
            return "[" + ",".join(_text(element, item, place) for item in value) + "]"
        case Map(item_type):
            names = value if isinstance(value, Mapping) else {}
            return _object([Column(str(name), item_type) for name in names], value, place)
        case Decimal():
            return _decimal(value, place)
    return SCALARS[column_type](value, place)


def _plain(value: object, place: str) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError):
        raise _unfit(place, "a plain JSON value, because the column is not declared", value) from None


def _unfit(place: str, expected: str, found: object) -> UsageError:
    return UsageError(f"{place}: expected {expected}, found {type(found).__name__} {shorten(repr(found))}")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _boolean(value: object, place: str) -> str:
    if not isinstance(value, bool):
        raise _unfit(place, "True or False", value)
    return "true" if value else "false"


def _integer(value: object, place: str) -> str:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _unfit(place, "an int", value)
    return str(value)


def _double(value: object, place: str) -> str:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise _unfit(place, "a finite float", value)
    return repr(value)


def _decimal(value: object, place: str) -> str:
    if isinstance(value, decimal.Decimal) and value.is_finite():
        return format(value, "f")
    if isinstance(value, decimal.Decimal):
        raise _unfit(place, "a finite Decimal", value)
    return _double(value, place)


def _string(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise _unfit(place, "text", value)
    return _quoted(value)


def _timestamp(value: object, place: str) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if not isinstance(value, dt.datetime):
        raise _unfit(place, "a datetime or its ISO 8601 text", value)
    if value.utcoffset() is None:
        return _quoted(value.isoformat(timespec="microseconds"))
    try:
        utc = value.astimezone(dt.UTC)
    except OverflowError:
        raise _unfit(place, "a time within the years 0001 to 9999 of UTC", value) from None
    return _quoted(utc.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z")


def _date(value: object, place: str) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if not isinstance(value, dt.date) or isinstance(value, dt.datetime):
        raise _unfit(place, "a date or its ISO 8601 text", value)
    return _quoted(value.isoformat())


def _binary(value: object, place: str) -> str:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise _unfit(place, "bytes", value)
    return _quoted(base64.b64encode(value).decode("ascii"))


SCALARS: dict[Type, Callable[[object, str], str]] = {
    BOOL: _boolean,
    INT: _integer,
    LONG: _integer,
    DOUBLE: _double,
    STRING: _string,
    TIMESTAMP: _timestamp,
    DATE: _date,
    BINARY: _binary,
}
