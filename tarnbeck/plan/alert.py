"""Alert rules as checked, immutable data: what is looked at, the condition, how long it must hold, and who is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tarnbeck.errors import DeclarationError, UsageError, unknown
from tarnbeck.expression import Expression, check_finished
from tarnbeck.plan.declare import Scope
from tarnbeck.plan.destination import Destination, Email, ToStream, Webhook
from tarnbeck.plan.view import View, columns_of
from tarnbeck.schema import types
from tarnbeck.schema.stream import Stream
from tarnbeck.schema.types import Type
from tarnbeck.window.duration import MINUTE, duration, text
from tarnbeck.window.pane import Whole
from tarnbeck.window.window import Sliding

EVENTS = (
    "time timestamp, id string, rule string, state string, keys map<string,string>, window_start timestamp, "
    "window_end timestamp, values map<string,string>, cut string, since timestamp, text string"
)
"""The columns of a stream that notices are sent to."""

LOOKS_BACK = 10
"""Windows back to which a key is looked at that has no newer one, unless told otherwise."""
AT_LEAST = 10 * MINUTE

On = Literal["change", "close"]


@dataclass(frozen=True)
class Lag:
    """How far a view or the lake of a stream is behind the log, or, without a name, how far all of them are."""

    kind: Literal["view", "stream"] | None
    name: str | None

    columns = {"kind": types.STRING, "name": types.STRING, "records": types.LONG, "seconds": types.DOUBLE}
    keys = ("kind", "name")

    def __str__(self) -> str:
        return "lag" if self.name is None else f"lag of {self.kind} {self.name}"


@dataclass(frozen=True)
class Parts:
    """The parts of the node: whether each runs, how far it is behind, and its last error."""

    columns = {
        "part": types.STRING,
        "state": types.STRING,
        "records": types.LONG,
        "seconds": types.DOUBLE,
        "rate": types.DOUBLE,
        "error": types.STRING,
    }
    keys = ("part",)

    def __str__(self) -> str:
        return "parts"


@dataclass(frozen=True)
class Alert:
    """One rule. `per` is a rollup's level; windows are looked at that end less than `last` microseconds ago."""

    name: str
    source: View | Lag | Parts
    when: Expression
    lasting: int
    every: int | None
    to: tuple[Destination, ...]
    per: str | None
    last: int | None
    only_closed: bool

    def definition(self) -> dict[str, object]:
        """What people are shown of it, and the store keeps: no URL and no password."""
        return {
            "on": f"view {self.source.name}" if isinstance(self.source, View) else str(self.source),
            "per": self.per,
            "when": self.when.sql,
            "lasting": text(self.lasting) if self.lasting else None,
            "every": text(self.every) if self.every else None,
            "to": [destination.label for destination in self.to],
        }


def lag(of: View | Stream | None = None, /) -> Lag:
    """What an alert can be about: how far a view, or the lake of a stream, is behind the log; without one, all of them.

    Its columns are `kind` ("view" or "stream"), `name`, `records` and `seconds`.
    """
    if of is None:
        return Lag(None, None)
    return Lag("view" if isinstance(of, View) else "stream", of.name)


def parts() -> Parts:
    """What an alert can be about: the parts of the running app.

    Its columns are `part`, `state` ("running", "done", "failed", "stopped"), `records`, `seconds`, `rate`, `error`.
    """
    return Parts()


def alert(
    place: str,
    name: str,
    source: View | Lag | Parts,
    *,
    when: str,
    lasting: str | None,
    every: str | None,
    to: Destination | Sequence[Destination],
    per: str | None,
    last: str | None,
    on: On,
) -> Alert:
    """The rule that a declaration means."""
    shown = _shown(source)
    owner = f"view '{source.name}'" if isinstance(source, View) else str(source)
    condition = Scope(place, owner, _columns(shown), check_finished).expression(when, expected=types.BOOL)
    if on not in ("change", "close"):
        raise DeclarationError(f"{place}: on={on!r}: expected 'change' or 'close'")
    destinations = (to,) if isinstance(to, (Webhook, Email, ToStream)) else tuple(to)
    for destination in destinations:
        if not isinstance(destination, (Webhook, Email, ToStream)):
            raise DeclarationError(
                f"{place}: to: expected tb.webhook(…), tb.email(…) or tb.to_stream(…), found {destination!r}"
            )
    return Alert(
        name,
        source,
        condition,
        0 if lasting is None else _length(place, "lasting", lasting),
        None if every is None else _length(place, "every", every),
        destinations,
        _level(place, shown, per),
        _looks_back(place, shown, per, last),
        _closed(place, shown, on),
    )


def _shown(source: View | Lag | Parts) -> View | Lag | Parts:
    return source.table.over if isinstance(source, View) and source.table is not None else source


def _columns(source: View | Lag | Parts) -> Mapping[str, Type]:
    return dict(columns_of(source)) if isinstance(source, View) else source.columns


def _windowed(source: View | Lag | Parts) -> bool:
    return isinstance(source, View) and not isinstance(source.window.panes[0], Whole)


def _level(place: str, source: View | Lag | Parts, per: str | None) -> str | None:
    levels = source.window.levels if isinstance(source, View) else ()
    if per is not None and per not in levels:
        raise DeclarationError(unknown(f"{place}: per", "level", per, levels, "its window"))
    return per


def _looks_back(place: str, source: View | Lag | Parts, per: str | None, last: str | None) -> int | None:
    """How long a key whose newest window is over is looked at."""
    if not isinstance(source, View) or not _windowed(source):
        if last is not None:
            raise DeclarationError(f"{place}: last={last!r}: what it looks at has no windows\n  leave it out")
        return None
    if last is not None:
        return _length(place, "last", last)
    window = source.window
    if isinstance(window, Sliding):
        return window.length
    pane = window.panes[0 if per is None else window.levels.index(per)]
    return max(AT_LEAST, LOOKS_BACK * (pane.end_of(0) or 0))


def _closed(place: str, source: View | Lag | Parts, on: On) -> bool:
    if on == "close" and not _windowed(source):
        raise DeclarationError(f"{place}: on='close': what it looks at has no windows that close\n  leave it out")
    return on == "close"


def _length(place: str, option: str, given: str) -> int:
    try:
        return duration(given)
    except UsageError as wrong:
        raise DeclarationError(f"{place}: {option}={given!r}: {wrong}") from None
