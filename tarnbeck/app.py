"""The declarations of one application: streams and views, checked when they are declared, data only."""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Self

from tarnbeck.algebra.aggregate import Aggregate
from tarnbeck.algebra.custom import Custom, wrapped
from tarnbeck.cut import Cut
from tarnbeck.errors import DeclarationError, unknown
from tarnbeck.plan.declare import (
    Scope,
    aggregate_of,
    derivation,
    hidden_states,
    kept_for,
    keys_of,
    late_after,
    outputs_of,
)
from tarnbeck.plan.definition import Definition, of_stream, of_view
from tarnbeck.plan.view import View
from tarnbeck.schema import ddl, types
from tarnbeck.schema.stream import Arrival, Derivation, Epoch, EventTime, Former, FromColumn, Json, Owner, Stream
from tarnbeck.schema.types import Schema
from tarnbeck.window import duration
from tarnbeck.window.window import AllTime, Session, Window, all_time, rollup, session, sliding, tumbling

if TYPE_CHECKING:
    import pyarrow as pa

_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
Mode = Literal["lambda", "kappa"]
MODES: tuple[Mode, ...] = ("lambda", "kappa")


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

    In the mode "kappa" there is no batch layer: generations are merged from what the speed layer computed.

    >>> app = App("shop")
    >>> orders = app.stream("orders", "time timestamp, item string, price decimal(18,2)", time="time")
    >>> from tarnbeck.algebra.aggregate import Count
    >>> sold = app.view("sold", orders, by="item", window=tumbling("1 hour"), select={"orders": Count()})
    >>> list(app.views)
    ['sold']
    """

    def __init__(self, name: str, *, mode: Mode = "lambda") -> None:
        self.name = _named("app", name)
        if mode not in MODES:
            raise DeclarationError(f"app '{name}': unknown mode {mode!r}\n  expected one of: {', '.join(MODES)}")
        self.mode: Mode = mode
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

    def derive(
        self,
        name: str,
        source: Stream,
        /,
        *,
        where: str | None = None,
        select: Sequence[str] | Mapping[str, str] | None = None,
        late: str | None = None,
        time: str | EventTime | None = None,
        key: str | None = None,
        partitions: int | None = None,
    ) -> Stream:
        """Declares a stream whose events are made of another's: those that pass `where`, with the columns of `select`.

        They are written back into the log, each exactly once. `late="1 hour"` lets only those pass that were received
        more than an hour after their time. Time and key are those of the source, if their columns are still there.
        """
        place = f"stream '{_named('stream', name)}'"
        self._own(place, source)
        derived, columns = derivation(place, source, where, select, late)
        names = [column.name for column in columns]
        moment = source.time if time is None else time
        kept = not isinstance(moment, (FromColumn, Epoch)) or moment.column in names
        if not kept:
            raise DeclarationError(f"{place}: it has no event time\n  keep the column in select, or say which: time=")
        made = self.stream(
            name,
            str(Schema(columns)),
            time=moment,
            key=source.key if key is None and source.key in names else key,
            partitions=partitions or source.partitions,
        )
        self.streams[name] = replace(made, derived=derived)
        return self.streams[name]

    def _own(self, place: str, source: Stream) -> None:
        if self.streams.get(source.name) is not source:
            raise DeclarationError(f"{place}: its source is not a stream of app '{self.name}'")

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

        Events are counted however late they come, unless `late` says otherwise, such as "drop after 1 hour", or "to
        late_orders after 1 hour", which makes a stream of those that are left out. Windows are kept for ever, or as
        long as `keep` says: "30 days", or for each level of a rollup {"second": "2 days"}.
        """
        place = f"view '{_named('view', name)}'"
        if name in self.views:
            raise DeclarationError(f"{place}: declared twice\n  choose another name")
        self._own(place, source)
        scope = Scope(place, f"stream '{source.name}'", {column.name: column.type for column in source.schema})
        condition = None if where is None else scope.expression(where, expected=types.BOOL)
        keys = keys_of(scope, by)
        kept = kept_for(place, window or all_time(), keep)
        hidden = hidden_states(place, session=isinstance(window, Session), kept=bool(kept))
        outputs, states = outputs_of(scope, wrapped(select), {key.name for key in keys}, hidden)
        latest, aside = late_after(place, late)
        if aside is not None:
            self._aside(place, aside, source, latest)
        declared = View(name, source, keys, condition, window or all_time(), outputs, states, latest, kept)
        self.views[name] = declared
        return declared

    def _aside(self, place: str, name: str, source: Stream, latest: int | None) -> None:
        """The stream of late events, which several views may share."""
        wanted = Derivation(source.name, None, (), latest)
        if name not in self.streams:
            self.derive(name, source, late=duration.text(latest or 0))
        elif self.streams[name].derived != wanted:
            raise DeclarationError(f"{place}: late: stream '{name}' is another one\n  choose another name")

    def definition(self) -> Definition:
        """The whole application as JSON; `App.of` reads it back."""
        return {
            "name": self.name,
            "mode": self.mode,
            "streams": [of_stream(stream) for stream in self.streams.values()],
            "views": [of_view(view) for view in self.views.values()],
        }

    @classmethod
    def of(cls, definition: Definition) -> Self:
        """The application that a definition describes."""
        app = cls(definition["name"], mode=definition.get("mode", "lambda"))
        for stream in definition["streams"]:
            app.stream_of(stream)
        for view in definition["views"]:
            app.view_of(view)
        return app

    def stream_of(self, definition: Definition) -> Stream:
        time, derived, owner = definition["time"], definition.get("derived"), definition.get("owner")
        moment: str | EventTime = arrival()
        if "column" in time:
            moment = time["column"]
        elif "epoch" in time:
            moment = epoch(time["epoch"], time["unit"])
        made = self.stream(
            definition["name"],
            definition["schema"],
            time=moment,
            zone=time.get("zone"),
            key=definition["key"],
            topic=definition["topic"],
            partitions=definition["partitions"],
            create=definition["create"],
        )
        if derived is not None:
            late = None if derived["late"] is None else duration.duration(derived["late"])
            select = tuple(derived["select"].items())
            made = replace(made, derived=Derivation(derived["source"], derived["where"], select, late))
        former = tuple(
            Former(ddl.parse(each["schema"], place=f"stream '{made.name}'"), Cut.from_json(each["until"]))
            for each in definition.get("former", ())
        )
        self.streams[made.name] = replace(made, former=former, owner=None if owner is None else Owner(**owner))
        return self.streams[made.name]

    def view_of(self, definition: Definition) -> View:
        select = {
            name: output if isinstance(output, str) else aggregate_of(*output)
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
