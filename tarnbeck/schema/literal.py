"""One JSON value as one value of a scalar type, or the reason why it is none."""

from __future__ import annotations

import binascii
import datetime as dt
import decimal
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from zoneinfo import ZoneInfo

from tarnbeck.schema.stream import Unit
from tarnbeck.schema.strict import Constant, Number, Reject, describe, shorten
from tarnbeck.schema.types import BINARY, BOOL, DATE, DOUBLE, INT, LONG, STRING, TIMESTAMP, Decimal, Type

Read = Callable[[object, str], object]
"""Takes a JSON value that is not null and the path where it stood; gives what Arrow takes for the type."""

DAY = 86_400_000_000
EARLIEST = -62_135_596_800_000_000
LATEST = 253_402_300_799_999_999
"""The microseconds of the years 0001 to 9999, the only ones that every part of tarnbeck can hold."""


@dataclass(frozen=True)
class Years:
    """A part of the calendar: its first and last microsecond, and what reasons call it."""

    first: int
    last: int
    name: str


ANY = Years(EARLIEST, LATEST, "0001 to 9999")
OF_EVENTS = Years(EARLIEST + 365 * DAY, LATEST - 365 * DAY, "0002 to 9998")
"""When an event may have happened: a year is left free at both ends, so that its windows stay in the calendar."""

PER_UNIT: dict[Unit, tuple[int, int]] = {"s": (1_000_000, 1), "ms": (1_000, 1), "us": (1, 1), "ns": (1, 1_000)}
"""Microseconds in one unit of an epoch number, as a numerator and a denominator."""

_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d)(?::(\d\d)(?::(\d\d)(?:\.(\d+))?)?)?(?:(Z)|([+-])(\d\d)(?::?(\d\d))?)?", re.ASCII
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()


def wrong(path: str, expected: object, found: object) -> Reject:
    if type(found) is Constant:
        return Reject(f"{path}: {found}")
    return Reject(f"{path}: expected {expected}, found {describe(found)}")


def reader(column_type: Type) -> Read:
    """How a value of a scalar type is read."""
    return _decimal(column_type) if isinstance(column_type, Decimal) else SCALARS[column_type]


def timestamp(zone: ZoneInfo | None, years: Years = ANY) -> Read:
    """Reads ISO 8601 with a zone; a text without one means local time in `zone`, or is refused when that is None.

    A local time that a clock change repeats is the earlier one; one that it skips is taken with the offset from before.
    """

    def read(value: object, path: str) -> int:
        if type(value) is not str:
            raise wrong(path, "timestamp", value)
        found = _TIME.fullmatch(value)
        if found is None:
            raise wrong(path, "timestamp", value)
        day, hour, minute, second, fraction, utc, sign, east, east_minutes = found.groups(default="")
        if len(fraction) > 6:
            raise Reject(f"{path}: more than 6 fractional digits in '{shorten(value)}'")
        try:
            local = dt.datetime.combine(
                dt.date.fromisoformat(day), dt.time(int(hour), int(minute or 0), int(second or 0))
            )
            offset = dt.time(int(east), int(east_minutes or 0)) if sign else dt.time()
        except ValueError:
            raise Reject(f"{path}: no such time: '{value}'") from None
        if not utc and not sign and zone is None:
            raise Reject(f"{path}: no time zone in '{value}'")
        east_of_utc = (offset.hour * 60 + offset.minute) * 60_000_000 * (-1 if sign == "-" else 1)
        if zone is not None and not utc and not sign:
            east_of_utc = offset_of(local, zone)
        micros = local_micros(local) + int(fraction.ljust(6, "0")) - east_of_utc
        return _in_range(micros, years, f"'{value}'", path)

    return read


def local_micros(local: dt.datetime) -> int:
    """Microseconds from 1970 to a time, both read off the same wall clock; whole seconds only."""
    seconds = (local.toordinal() - _EPOCH_DAY) * 86_400 + local.hour * 3_600 + local.minute * 60 + local.second
    return seconds * 1_000_000


def offset_of(local: dt.datetime, zone: ZoneInfo) -> int:
    """How many microseconds a zone is ahead of UTC at a local time."""
    offset = zone.utcoffset(local)
    if offset is None:
        raise ValueError(f"the zone {zone} has no offset at {local}")
    return offset // dt.timedelta(microseconds=1)


def epoch_micros(value: object, unit: Unit, path: str) -> int:
    """The event time that a number of units since 1970 means: what is finer than a microsecond is cut off downwards.

    A double is rounded instead, because the double next to 1.1 seconds may lie below it.
    """
    numerator, denominator = PER_UNIT[unit]
    if isinstance(value, float):
        scaled = value * numerator / denominator
        micros = round(scaled) if abs(scaled) < 1e18 else LATEST + 1
    elif isinstance(value, int):
        micros = value * numerator // denominator
    elif isinstance(value, decimal.Decimal):
        micros = math.floor(Fraction(value) * numerator / denominator)
    else:
        raise wrong(path, "a number", value)
    return _in_range(micros, OF_EVENTS, f"{value} {unit}", path)


def _in_range(micros: int, years: Years, found: str, path: str) -> int:
    if not years.first <= micros <= years.last:
        raise Reject(f"{path}: {found} is outside the years {years.name}")
    return micros


def _integer(name: str, bits: int) -> Read:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1

    def read(value: object, path: str) -> int:
        if type(value) is int and low <= value <= high:
            return value
        if type(value) is int or (type(value) is Number and value.lstrip("-").isdecimal()):
            raise Reject(f"{path}: {shorten(str(value))} is out of range for {name}")
        raise wrong(path, name, value)

    return read


def _decimal(column_type: Decimal) -> Read:
    context = decimal.Context(
        prec=column_type.precision,
        Emax=decimal.MAX_EMAX,
        Emin=decimal.MIN_EMIN,
        traps=[decimal.Inexact, decimal.InvalidOperation],
    )
    quantum = decimal.Decimal((0, (1,), -column_type.scale))

    def read(value: object, path: str) -> decimal.Decimal:
        # A number in quotes is taken, as the vectorised reader can't tell it from one without.
        if type(value) in (int, Number) or (type(value) is str and _DECIMAL.fullmatch(value)):
            try:
                return decimal.Decimal(value).quantize(quantum, context=context)  # type: ignore[arg-type]
            except (decimal.Inexact, decimal.InvalidOperation):
                raise Reject(f"{path}: {shorten(str(value))} does not fit {column_type}") from None
        raise wrong(path, column_type, value)

    return read


def _double(value: object, path: str) -> float:
    if type(value) is not int and type(value) is not Number:
        raise wrong(path, "double", value)
    found = float(value)
    if math.isinf(found):
        raise Reject(f"{path}: {shorten(str(value))} is out of range for double")
    # Adding zero turns -0.0 into 0.0, which is otherwise another key and another bit pattern.
    return found + 0.0


def _exactly(kind: type, name: str) -> Read:
    def read(value: object, path: str) -> object:
        if type(value) is not kind:
            raise wrong(path, name, value)
        return value

    return read


def _date(value: object, path: str) -> dt.date:
    if type(value) is not str or not _DATE.fullmatch(value):
        raise wrong(path, "date", value)
    try:
        return dt.date.fromisoformat(value)
    except ValueError:
        raise Reject(f"{path}: no such date: '{value}'") from None


def binary(value: object, path: str) -> bytes:
    """The bytes that a text in standard base64 stands for."""
    if type(value) is not str:
        raise wrong(path, "base64", value)
    try:
        return binascii.a2b_base64(value, strict_mode=True)
    except ValueError:
        raise wrong(path, "base64", value) from None


SCALARS: dict[Type, Read] = {
    BOOL: _exactly(bool, "boolean"),
    INT: _integer("int", 32),
    LONG: _integer("bigint", 64),
    DOUBLE: _double,
    STRING: _exactly(str, "string"),
    TIMESTAMP: timestamp(None),
    DATE: _date,
    BINARY: binary,
}
