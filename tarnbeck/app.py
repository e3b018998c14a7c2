"""The declarations of one application: streams and views, checked when they are declared, data only."""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

from tarnbeck.algebra import custom
from tarnbeck.algebra.aggregate import Aggregate
from tarnbeck.algebra.custom import Custom, wrapped
from tarnbeck.algebra.registry import AGGREGATES
from tarnbeck.algebra.relation import EVENT_TIME
from tarnbeck.algebra.sets import Combination, Members
from tarnbeck.algebra.state import Extreme
from tarnbeck.errors import DeclarationError, UsageError, unknown
from tarnbeck.expression import Expression, check
from tarnbeck.plan.definition import Definition, of_stream, of_view
from tarnbeck.plan.view import ARRIVAL, Derived, Key, Measure, StateCall, View
from tarnbeck.schema import ddl, types
from tarnbeck.schema.stream import Arrival, Epoch, EventTime, FromColumn, Json, Stream
from tarnbeck.schema.types import Decimal, Physical, Scalar, ScalarType, Schema, Type
from tarnbeck.window.duration import duration
from tarnbeck.window.window import AllTime, Session, Sliding, Window, all_time, rollup, session, sliding, tumbling

if TYPE_CHECKING:
    import pyarrow as pa

_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
RESERVED = ("start", "end", "level", "cut")
"""Names that an answer's own columns and a query's own parameters have."""


def json() -> Json:
    """Each record holds one JSON object."""
    return Json()


def epoch(column: str, unit: Literal["s", "ms", "us", "ns"]) -> Epoch:
    """Event time is a number of units since 1970 in this column."""
    if unit not in ("s", "ms", "us", "ns"):
        raise DeclarationError(f"epoch({column!r}, {unit!r}): unknown unit\n  expected one of: s, ms, us, ns")
    return Epoch(column, unit)


def arrival() -> Arrival:
    """Event time is the moment the log received the record."""
    return Arrival()


class App:
    """One application: a name, its streams and its views.

    >>> app = App("shop")
    >>> orders = app.stream("orders", "time timestamp, item string, price decimal(18,2)", time="time")
    >>> sold = app.view("sold", orders, by="item", window=tumbling("1 hour"), select={"orders": AGGREGATES["count"]()})
    >>> list(app.views)
    ['sold']
    """

    def __init__(self, name: str) -> None:
        self.name = _named("app", name)
        self.streams: dict[str, Stream] = {}
        self.views: dict[str, View] = {}

    def stream(
        self,
        name: str,
        schema: str | pa.Schema,
        /,
        *,
        time: str | EventTime,
        key: str | None = None,
        zone: str | None = None,
        topic: str | None = None,
        format: Json | None = None,  # noqa: A002 (the word users expect)
        partitions: int = 2,
        create: bool = True,
    ) -> Stream:
        """Declares a stream: one Kafka topic of events with these columns."""
        place = f"stream '{_named('stream', name)}'"
        if name in self.streams:
            raise DeclarationError(f"{place}: declared twice\n  choose another name")
        columns = ddl.parse(schema, place=place)
        topic = topic or f"{self.name}.{name}"
        if not _TOPIC.fullmatch(topic):
            raise DeclarationError(f"{place}: bad topic {topic!r}\n  expected letters, digits, '.', '_' or '-'")
        if not 1 <= partitions <= 10_000:
            raise DeclarationError(f"{place}: bad number of partitions {partitions}\n  expected 1 to 10000")
        if key is not None and key not in columns:
            raise DeclarationError(unknown(place, "key column", key, columns.names, "it"))
        moment = _event_time(place, columns, time, zone)
        declared = Stream(name, columns, moment, key, topic, format or Json(), partitions, create)
        self.streams[name] = declared
        return declared

    def view(
        self,
        name: str,
        source: Stream,
        /,
        *,
        by: str | Sequence[str] | Mapping[str, str] = (),
        where: str | None = None,
        window: Window | None = None,
        late: str | None = None,
        keep: str | Mapping[str, str] | None = None,
        select: Mapping[str, Aggregate | Custom | str],
    ) -> View:
        """Declares a view: aggregates of a stream, by keys and window.

        Events are counted however late they come, unless `late` says otherwise, such as "drop after 1 hour". Windows
        are kept for ever, or as long as `keep` says: "30 days", or for each level of a rollup {"second": "2 days"}.
        """
        place = f"view '{_named('view', name)}'"
        if name in self.views:
            raise DeclarationError(f"{place}: declared twice\n  choose another name")
        if self.streams.get(source.name) is not source:
            raise DeclarationError(f"{place}: its source is not a stream of app '{self.name}'")
        scope = _Scope(place, f"stream '{source.name}'", {column.name: column.type for column in source.schema})
        condition = None if where is None else scope.expression(where, expected=types.BOOL)
        keys = _keys(scope, by)
        kept = _keep(place, window or all_time(), keep)
        hidden = (*(_bounds(place) if isinstance(window, Session) else ()), *(_clock(place) if kept else ()))
        outputs, states = _outputs(scope, wrapped(select), {key.name for key in keys}, hidden)
        declared = View(name, source, keys, condition, window or all_time(), outputs, states, _late(place, late), kept)
        self.views[name] = declared
        return declared

    def definition(self) -> Definition:
        """The whole application as JSON; `App.of` reads it back."""
        return {
            "name": self.name,
            "streams": [of_stream(stream) for stream in self.streams.values()],
            "views": [of_view(view) for view in self.views.values()],
        }

    @classmethod
    def of(cls, definition: Definition) -> Self:
        """The application that a definition describes."""
        app = cls(definition["name"])
        for stream in definition["streams"]:
            app.stream_of(stream)
        for view in definition["views"]:
            app.view_of(view)
        return app

    def stream_of(self, definition: Definition) -> Stream:
        time = definition["time"]
        moment: str | EventTime = arrival()
        if "column" in time:
            moment = time["column"]
        elif "epoch" in time:
            moment = epoch(time["epoch"], time["unit"])
        return self.stream(
            definition["name"],
            definition["schema"],
            time=moment,
            zone=time.get("zone"),
            key=definition["key"],
            topic=definition["topic"],
            partitions=definition["partitions"],
            create=definition["create"],
        )

    def view_of(self, definition: Definition) -> View:
        select = {
            name: output if isinstance(output, str) else _aggregate_of(*output)
            for name, output in definition["select"].items()
        }
        return self.view(
            definition["name"],
            self.streams[definition["stream"]],
            by=definition["by"],
            where=definition["where"],
            window=_window_of(definition["window"]),
            late=definition.get("late"),
            keep=definition.get("keep"),
            select=select,
        )


class _Scope:
    """Where expressions of one view are checked: its stream's columns."""

    def __init__(self, place: str, owner: str, columns: Mapping[str, Type]) -> None:
        self.place, self.owner, self.columns = place, owner, columns

    def expression(self, text: str, *, expected: Type | None = None) -> Expression:
        found = check(text, self.columns, place=self.place, owner=self.owner)
        if expected is not None and found.type != expected:
            raise DeclarationError(f"{self.place}: {text!r}: expected {expected}, found {found.type}")
        return found

    def scalar(self, text: str) -> tuple[Expression, ScalarType]:
        found = self.expression(text)
        if not isinstance(found.type, (Scalar, Decimal)):
            raise DeclarationError(
                f"{self.place}: {text!r}: expected a single value, found {found.type}\n"
                "  choose a part of it, such as a.b, items[0] or tags['x']"
            )
        return found, found.type


def _named(what: str, name: str) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise DeclarationError(
            f"{what} {name!r}: bad name\n  expected a lower-case letter, then letters, digits or '_' (at most 63)"
        )
    return name


def _event_time(place: str, columns: Schema, time: str | EventTime, zone: str | None) -> EventTime:
    moment = FromColumn(time, zone) if isinstance(time, str) else time
    if isinstance(moment, Arrival):
        return moment
    if moment.column not in columns:
        raise DeclarationError(unknown(place, "time column", moment.column, columns.names, "it"))
    found = columns[moment.column].type
    fits = (types.TIMESTAMP,) if isinstance(moment, FromColumn) else (types.INT, types.LONG, types.DOUBLE)
    if found not in fits:
        hint = (
            "" if isinstance(moment, Epoch) else f"\n  for a number of seconds: time=tb.epoch({moment.column!r}, 's')"
        )
        expected = " or ".join(map(str, fits))
        raise DeclarationError(f"{place}: time column '{moment.column}': expected {expected}, found {found}{hint}")
    if zone is not None:
        try:
            zoneinfo.ZoneInfo(zone)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError):
            raise DeclarationError(f"{place}: unknown time zone {zone!r}\n  for example: 'Europe/Vienna'") from None
    return moment


def _late(place: str, late: str | None) -> int | None:
    if late is None:
        return None
    length = late.removeprefix("drop after ")
    try:
        if length == late:
            raise UsageError("expected 'drop after' and a length, such as 'drop after 1 hour'")
        return duration(length)
    except UsageError as wrong:
        raise DeclarationError(f"{place}: late={late!r}: {wrong}") from None


def _keep(place: str, window: Window, keep: str | Mapping[str, str] | None) -> tuple[int | None, ...]:
    """How long each level is kept; nothing when all are kept for ever."""
    if not keep:
        return ()
    levels = window.levels
    if isinstance(window, AllTime):
        raise DeclarationError(f"{place}: keep={keep!r}: its one window over all time never ends\n  leave it out")
    named = dict.fromkeys(levels, keep) if isinstance(keep, str) else keep
    for level in named:
        if level not in levels:
            raise DeclarationError(unknown(f"{place}: keep", "level", level, levels, "its window"))
    try:
        found = tuple(duration(named[level]) if level in named else None for level in levels)
    except UsageError as wrong:
        raise DeclarationError(f"{place}: keep={keep!r}: {wrong}") from None
    if isinstance(window, Sliding) and found[0] is not None and found[0] < window.length:
        raise DeclarationError(
            f"{place}: keep={keep!r}: no window would ever be whole\n  expected at least its length, {levels[0]}"
        )
    return found


def _keys(scope: _Scope, by: str | Sequence[str] | Mapping[str, str]) -> tuple[Key, ...]:
    if isinstance(by, str):
        by = (by,)
    named = by if isinstance(by, Mapping) else {column: column for column in by}
    if not isinstance(by, Mapping) and len(named) != len(by):
        raise DeclarationError(f"{scope.place}: by={list(by)!r}: a key is named twice")
    keys = []
    for name, text in named.items():
        if not name.isidentifier() and not isinstance(by, Mapping):
            raise DeclarationError(
                f"{scope.place}: by={name!r}: a computed key needs a name\n  by={{'name': {name!r}}}"
            )
        _column_name(scope.place, name)
        expression, type_ = scope.scalar(text)
        keys.append(Key(name, expression, type_))
    return tuple(keys)


def _column_name(place: str, name: str) -> None:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,62}", name) or name.lower() in RESERVED:
        raise DeclarationError(
            f"{place}: bad column name {name!r}\n"
            f"  expected a letter, then letters, digits or '_'; not one of: {', '.join(RESERVED)}"
        )


def _bounds(place: str) -> tuple[StateCall, ...]:
    """The earliest and latest event of a session's pane, before all that users ask for."""
    moment = check("_time", {"_time": types.TIMESTAMP}, place=place, owner="every stream")
    return tuple(StateCall(Extreme(Physical.INT, least), (moment,)) for least in (True, False))


def _clock(place: str) -> tuple[StateCall, ...]:
    """The newest arrival, which decides what a view still keeps."""
    arrival = check(ARRIVAL, {ARRIVAL: types.TIMESTAMP}, place=place, owner="every stream")
    return (StateCall(Extreme(Physical.INT, False), (arrival,)),)


def _outputs(
    scope: _Scope, select: Mapping[str, Aggregate | str], keys: set[str], hidden: Sequence[StateCall]
) -> tuple[tuple[Measure | Derived, ...], tuple[StateCall, ...]]:
    if not select or not any(isinstance(output, Aggregate) for output in select.values()):
        raise DeclarationError(f"{scope.place}: select needs at least one aggregate, such as {{'n': tb.count()}}")
    states: dict[StateCall, int] = {call: place for place, call in enumerate(hidden)}
    outputs: list[Measure | Derived] = []
    for name, output in select.items():
        _column_name(scope.place, name)
        if name in keys:
            raise DeclarationError(f"{scope.place}: '{name}' is a key and an output\n  rename one of them")
        if isinstance(output, Combination):
            outputs.append(_combination(scope, name, output, outputs))
        elif isinstance(output, Aggregate):
            outputs.append(_measure(scope, name, output, states))
        elif isinstance(output, str):
            known = _Scope(f"{scope.place}: '{name}'", "select, before it,", {o.name: o.type for o in outputs})
            expression, type_ = known.scalar(output)
            outputs.append(Derived(name, expression, type_))
        else:
            raise DeclarationError(f"{scope.place}: '{name}': expected an aggregate or an expression, found {output!r}")
    return tuple(outputs), tuple(states)


def _measure(scope: _Scope, name: str, aggregate: Aggregate, states: dict[StateCall, int]) -> Measure:
    scope = _Scope(f"{scope.place}: '{name}'", scope.owner, scope.columns)
    aggregate = aggregate.over(scope.columns)
    columns = aggregate.columns
    if EVENT_TIME in columns:
        scope = _Scope(scope.place, scope.owner, {**scope.columns, EVENT_TIME: types.TIMESTAMP})
    if aggregate.where is not None:
        # What has no value is not seen: an aggregate with a condition is one of columns that are null elsewhere.
        condition = scope.expression(aggregate.where, expected=types.BOOL).sql
        values = [scope.expression(column).sql for column in columns] or ["1"]
        columns = tuple(f"CASE WHEN {condition} THEN {value} END" for value in values)
    found = [scope.scalar(column) for column in columns]
    arguments, argument_types = tuple(each[0] for each in found), tuple(each[1] for each in found)
    try:
        result = aggregate.result(argument_types)
        calls = [StateCall(state, arguments) for state in aggregate.states(argument_types)]
    except DeclarationError as wrong:
        raise DeclarationError(f"{scope.place}: {wrong}") from None
    places = tuple(states.setdefault(call, len(states)) for call in calls)
    return Measure(name, aggregate, arguments, result, places)


def _combination(scope: _Scope, name: str, wanted: Combination, before: Sequence[Measure | Derived]) -> Measure:
    """A set made of two that are outputs before it, whose states it shares."""
    place = f"{scope.place}: '{name}': {wanted}"
    if wanted.where is not None:
        raise DeclarationError(f"{place}: it takes no where\n  give it to the sets that it is made of")
    known = {o.name: o for o in before if isinstance(o, Measure) and isinstance(o.aggregate, Members)}
    places: tuple[int, ...] = ()
    for each in (wanted.left, wanted.right):
        if each not in known:
            raise DeclarationError(unknown(place, "set", each, known, "select, before it, as tb.members(…),"))
        places += known[each].states
    return Measure(name, wanted, (), wanted.result(()), places)


def _aggregate_of(name: str, *given: str | dict[str, Any] | None) -> Aggregate:
    """The aggregate of a definition: its name, its columns, and its options, if it has any."""
    columns = [column for column in given if isinstance(column, str)]
    options = given[-1] if given and isinstance(given[-1], dict) else {}
    known = AGGREGATES.get(name)
    return custom.again(name, columns, options) if known is None else known.again(columns, options)


def _window_of(definition: Definition) -> Window:
    if "tumbling" in definition:
        return tumbling(definition["tumbling"])
    if "sliding" in definition:
        return sliding(definition["sliding"], every=definition["every"])
    if "session" in definition:
        return session(definition["session"])
    if "rollup" in definition:
        return rollup(*definition["rollup"], zone=definition["zone"])
    return AllTime()
