"""The declarations of one application: streams and views, checked when they are declared, data only."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Self

from tarnbeck.algebra.aggregate import Aggregate
from tarnbeck.algebra.custom import Custom, wrapped
from tarnbeck.cut import Cut
from tarnbeck.errors import DeclarationError, unknown
from tarnbeck.plan import table as tables
from tarnbeck.plan.alert import Alert
from tarnbeck.plan.declare import (
    Scope,
    event_time,
    files_of,
    hidden_states,
    kept_for,
    keys_of,
    late_after,
    outputs_of,
    select_of,
    window_for,
)
from tarnbeck.plan.definition import Definition, derivation_of, of_stream, of_view, window_of
from tarnbeck.plan.derive import TIME, Made, changed, derivation, joined
from tarnbeck.plan.static import Rows, Static, static
from tarnbeck.plan.view import View
from tarnbeck.schema import ddl, types
from tarnbeck.schema.stream import Arrival, Derivation, Epoch, EventTime, Former, FromColumn, Json, Owner, Stream
from tarnbeck.schema.types import Schema
from tarnbeck.window import duration
from tarnbeck.window.window import Session, Window

if TYPE_CHECKING:
    from pathlib import Path

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
    >>> from tarnbeck.window.window import tumbling
    >>> sold = app.view("sold", orders, by="item", window=tumbling("1 hour"), select={"orders": Count()})
    >>> list(app.views)
    ['sold']
    """

    def __init__(self, name: str, *, mode: Mode = "lambda") -> None:
        self.name = named("app", name)
        if mode not in MODES:
            raise DeclarationError(f"app '{name}': unknown mode {mode!r}\n  expected one of: {', '.join(MODES)}")
        self.mode: Mode = mode
        self.streams: dict[str, Stream] = {}
        self.views: dict[str, View] = {}
        self.alerts: dict[str, Alert] = {}

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
        history: str | Sequence[str] = (),
    ) -> Stream:
        """Declares a stream: one Kafka topic of events with these columns.

        `history="data/*.parquet"` names files of older events, relative to the file that declares the stream: a start
        loads them into the lake, and views count them as they count all others.
        """
        place = f"stream '{named('stream', name)}'"
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
        moment = event_time(place, columns, time, zone)
        files = files_of(place, moment, (history,) if isinstance(history, str) else tuple(history))
        declared = Stream(name, columns, moment, key, topic, format or Json(), partitions, create, history=files)
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
        place = f"stream '{named('stream', name)}'"
        self._own(place, source)
        made = derivation(place, source, where, select, late)
        return self._derived(place, name, source, made, time, key, partitions)

    def join(
        self,
        name: str,
        source: Stream,
        table: View | Static,
        /,
        *,
        on: str | Mapping[str, str] | None = None,
        where: str | None = None,
        select: Sequence[str] | Mapping[str, str] | None = None,
        wait: str | None = None,
        time: str | EventTime | None = None,
        key: str | None = None,
        partitions: int | None = None,
    ) -> Stream:
        """Declares a stream of events, each with the row of a table that was true at the event's time.

        `on` says what is compared with the table's keys, if it is not a column of the same name. The row is a struct
        with the table's name, null if there is none: `select={"time": "time", "city": "homes.city"}`. A change of the
        table that the log received after the event counts if it came within `wait`.
        """
        place = f"stream '{named('stream', name)}'"
        self._own(place, source)
        if isinstance(table, View):
            self._own_table(place, table)
        made = joined(place, source, table, on, where, select, wait)
        return self._derived(place, name, source, made, time, key, partitions)

    def static(self, name: str, source: str | Path | Rows, schema: str, /, *, key: str | Sequence[str]) -> Static:
        """Declares static data to join events with: the rows of a file (CSV, JSON lines, Parquet), or mappings.

        They are part of the declaration: a join keeps the rows that it was declared with.
        """
        return static(f"static '{named('static', name)}'", name, source, schema, key)

    def changes(self, name: str, table: View, /, *, partitions: int | None = None) -> Stream:
        """Declares a stream of a table's changes: time, keys, the row before and after, null where there is none, cut.

        They come in the order in which the log told them; what did not change the row that holds is left out.
        """
        place = f"stream '{named('stream', name)}'"
        self._own_table(place, table)
        made = changed(place, table)
        key = made[1][1].name if len(made[1]) == 5 else None
        return self._derived(place, name, table.stream, made, TIME, key, partitions)

    def _derived(
        self,
        place: str,
        name: str,
        source: Stream,
        made: Made,
        time: str | EventTime | None,
        key: str | None,
        partitions: int | None,
    ) -> Stream:
        derived, columns = made
        names = [column.name for column in columns]
        moment = source.time if time is None else time
        kept = not isinstance(moment, (FromColumn, Epoch)) or moment.column in names
        if not kept:
            raise DeclarationError(f"{place}: it has no event time\n  keep the column in select, or say which: time=")
        stream = self.stream(
            name,
            str(Schema(columns)),
            time=moment,
            key=source.key if key is None and source.key in names else key,
            partitions=partitions or source.partitions,
        )
        self.streams[name] = replace(stream, derived=derived)
        return self.streams[name]

    def _own_table(self, place: str, table: View) -> None:
        if self.views.get(table.name) is not table:
            raise DeclarationError(f"{place}: its table is not one of app '{self.name}'")

    def _own(self, place: str, source: Stream) -> None:
        if self.streams.get(source.name) is not source:
            raise DeclarationError(f"{place}: its source is not a stream of app '{self.name}'")

    def view(
        self,
        name: str,
        source: Stream | View,
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

        Over a table it aggregates the rows that hold, and follows their changes.
        """
        place = self._new("view", name)
        if isinstance(source, View):
            return self._over(place, name, source, by, where, select, (window, late, keep))
        self._own(place, source)
        scope = Scope(place, f"stream '{source.name}'", {column.name: column.type for column in source.schema})
        condition = None if where is None else scope.expression(where, expected=types.BOOL)
        keys = keys_of(scope, by)
        window = window_for(place, window)
        kept = kept_for(place, window, keep)
        hidden = hidden_states(place, session=isinstance(window, Session), kept=bool(kept))
        outputs, states = outputs_of(scope, wrapped(select), {key.name for key in keys}, hidden)
        latest, aside = late_after(place, late)
        if aside is not None:
            self._aside(place, aside, source, latest)
        self.views[name] = View(name, source, keys, condition, window, outputs, states, latest, kept)
        return self.views[name]

    def table(
        self,
        name: str,
        source: Stream,
        /,
        *,
        key: str | Sequence[str] | Mapping[str, str],
        select: Sequence[str] | Mapping[str, str] | None = None,
        where: str | None = None,
        delete: str | None = None,
    ) -> View:
        """Declares a table: of each key the newest row by event time, and what it was at any moment before.

        An event for which `delete` is true removes the row of its key. Without `select`, a row has all columns.
        """
        place = self._new("table", name)
        self._own(place, source)
        self.views[name] = tables.table(place, name, source, key, select, where, delete)
        return self.views[name]

    def _over(
        self,
        place: str,
        name: str,
        source: View,
        by: str | Sequence[str] | Mapping[str, str],
        where: str | None,
        select: Mapping[str, Aggregate | Custom | str],
        refused: tuple[object, ...],
    ) -> View:
        if self.views.get(source.name) is not source:
            raise DeclarationError(f"{place}: its source is not a table of app '{self.name}'")
        if any(option is not None for option in refused):
            raise DeclarationError(
                f"{place}: it is over a table, whose rows hold until they change: it takes no window, late or keep\n"
                "  ask for another moment when reading: as_of"
            )
        self.views[name] = tables.over(place, name, source, by, where, wrapped(select))
        return self.views[name]

    def _new(self, what: str, name: str) -> str:
        """Where an error is, if one is found in this declaration."""
        place = f"{what} '{named(what, name)}'"
        if name in self.views:
            raise DeclarationError(f"{place}: declared twice\n  choose another name")
        return place

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
            history=definition.get("history", ()),
        )
        if derived is not None:
            late = None if derived["late"] is None else duration.duration(derived["late"])
            made = replace(made, derived=derivation_of(derived, late))
        former = tuple(
            Former(ddl.parse(each["schema"], place=f"stream '{made.name}'"), Cut.from_json(each["until"]))
            for each in definition.get("former", ())
        )
        self.streams[made.name] = replace(made, former=former, owner=None if owner is None else Owner(**owner))
        return self.streams[made.name]

    def view_of(self, definition: Definition) -> View:
        if "table" in definition:
            return self._table_of(definition)
        return self.view(
            definition["name"],
            self.streams[definition["stream"]],
            by=definition["by"],
            where=definition["where"],
            window=window_of(definition["window"]),
            late=definition.get("late"),
            keep=definition.get("keep"),
            select=select_of(definition),
        )

    def _table_of(self, definition: Definition) -> View:
        name, source = definition["name"], self.streams[definition["stream"]]
        made = self.table(name, source, where=definition["where"], **definition["table"])
        if "over" not in definition:
            return made
        shown = definition["over"]
        self.views[name] = tables.over(f"view '{name}'", name, made, shown["by"], shown["where"], select_of(shown))
        return self.views[name]


def named(what: str, name: str) -> str:
    """The name, if it can be one."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise DeclarationError(
            f"{what} {name!r}: bad name\n  expected a lower-case letter, then letters, digits or '_' (at most 63)"
        )
    return name
