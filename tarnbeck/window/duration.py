"""Lengths of time as people write them, in microseconds."""

from __future__ import annotations

import re
from datetime import timedelta

from tarnbeck.errors import UsageError

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
WEEK = 7 * DAY

UNITS = {
    "millisecond": 1_000,
    "second": SECOND,
    "minute": MINUTE,
    "hour": HOUR,
    "day": DAY,
    "week": WEEK,
}
_SHORT = {"ms": "millisecond", "s": "second", "m": "minute", "h": "hour", "d": "day", "w": "week"}
_FORM = re.compile(r"\s*(\d{1,12})?\s*([a-z]+)\s*", re.ASCII)
_LONGEST = 100 * 366 * DAY
_EXPECTED = f"expected a number and a unit ({', '.join(UNITS)}), such as '10 minutes' or '1h'"


def duration(text: str) -> int:
    """Microseconds of a text such as "10 minutes", "1h" or "second".

    >>> duration("10 minutes"), duration("1h"), duration("second")
    (600000000, 3600000000, 1000000)
    """
    if isinstance(text, timedelta):
        raise _no_text(text)
    found = _FORM.fullmatch(text.lower()) if isinstance(text, str) else None
    if found:
        name = _SHORT.get(found[2], found[2].removesuffix("s"))
        length = int(found[1] or 1) * UNITS.get(name, 0)
        if 0 < length <= _LONGEST:
            return length
    raise UsageError(f"bad duration {text!r}\n  {_EXPECTED}")


def _no_text(given: timedelta) -> UsageError:
    """A length of Python's own is not guessed at: definitions, commands and the page know texts only."""
    length = given // timedelta(microseconds=1)
    fits = 0 < length <= _LONGEST and length % UNITS["millisecond"] == 0
    return UsageError(f"bad duration {given!r}\n  {f'write it as a text: {text(length)!r}' if fits else _EXPECTED}")


def text(length: int) -> str:
    """The shortest way to write a length that `duration` reads back.

    >>> text(600_000_000), text(90_000_000)
    ('10 minutes', '90 seconds')
    """
    name, unit = next((n, u) for n, u in sorted(UNITS.items(), key=lambda item: -item[1]) if length % u == 0)
    count = length // unit
    return f"{count} {name}" + ("s" if count > 1 else "")
