"""The one family of errors that users meet: each message names the place, what was expected and what was found."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TarnbeckError(Exception):
    """The root of every error that tarnbeck raises on purpose; `exit_code` is what the CLI ends with."""

    exit_code = 1


class DeclarationError(TarnbeckError):
    """An application is declared wrongly; found when declared, never when run."""

    exit_code = 2


class UsageError(TarnbeckError):
    """A command or request asks for something that does not exist or does not fit."""

    exit_code = 2


class LogError(TarnbeckError):
    """The log (Kafka) is missing, unreachable, or does not fit the declaration."""

    exit_code = 3


class LakeError(TarnbeckError):
    """The lake can't go on without a person's decision, such as accepting a hole that retention left."""

    exit_code = 3


class StoreError(TarnbeckError):
    """The store refuses: a lock is held, a cut does not fit, or its content is of another tarnbeck."""

    exit_code = 3


class NotReady(TarnbeckError):
    """The answer does not exist yet: the view is building, or a common cut was not reached in time."""

    exit_code = 4


class SetupError(TarnbeckError):
    """Something the machine must have is missing: Java, jars, a port, a permission."""

    exit_code = 5


def unknown(place: str, what: str, found: str, known: Iterable[str], owner: str) -> str:
    """A message about a name that does not exist, with what there is and the nearest one.

    >>> print(unknown("view 'ohlc'", "column", "prise", ["time", "price"], "stream 'prices'"))
    view 'ohlc': unknown column 'prise'
      stream 'prices' has: time, price
      did you mean 'price'?
    """
    names = list(known)
    lines = [f"{place}: unknown {what} '{found}'", f"  {owner} has: {', '.join(names) or 'none'}"]
    near = difflib.get_close_matches(found, names, n=1)
    if near:
        lines.append(f"  did you mean '{near[0]}'?")
    return "\n".join(lines)
