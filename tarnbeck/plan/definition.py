"""Declarations as JSON: what the catalog keeps, what a version's identity is the hash of, and the way back."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import Any

from tarnbeck.plan.table import ORDER
from tarnbeck.plan.view import Measure, Table, View
from tarnbeck.schema.stream import Arrival, Changes, Derivation, Epoch, EventTime, FromColumn, Join, Stream
from tarnbeck.window import duration
from tarnbeck.window.window import (
    AllTime,
    Rollup,
    Session,
    Sliding,
    Tumbling,
    Window,
    rollup,
    session,
    sliding,
    tumbling,
)

Definition = dict[str, Any]


def of_stream(stream: Stream) -> Definition:
    former = [{"schema": str(each.schema), "until": each.until.to_json()} for each in stream.former]
    return ({"former": former} if former else {}) | {
        "name": stream.name,
        "schema": str(stream.schema),
        "time": _time(stream.time),
        "key": stream.key,
        "topic": stream.topic,
        "partitions": stream.partitions,
        "create": stream.create,
        **({} if stream.derived is None else {"derived": _derived(stream.derived)}),
        **({"history": list(stream.history)} if stream.history else {}),
        **({} if stream.owner is None else {"owner": asdict(stream.owner)}),
    }


def _derived(derived: Derivation) -> Definition:
    join, changes = derived.join, derived.changes
    lookup: Definition = {}
    if join is not None:
        table = {"table": join.table, "definition": json.loads(join.definition)}
        lookup["join"] = {**table, "on": dict(join.on), "wait": join.wait, **({"static": True} if join.static else {})}
    if changes is not None:
        lookup["changes"] = {"table": changes.table, "definition": json.loads(changes.definition)}
    return lookup | {
        "source": derived.source,
        "where": derived.where,
        "select": dict(derived.select),
        "late": None if derived.late is None else duration.text(derived.late),
    }


def derivation_of(found: Definition, late: int | None) -> Derivation:
    """The way back from what `of_stream` tells of a derivation."""
    join, changes = found.get("join"), found.get("changes")
    return Derivation(
        found["source"],
        found["where"],
        tuple(found["select"].items()),
        late,
        None
        if join is None
        else Join(join["table"], _sorted(join), tuple(join["on"].items()), join["wait"], join.get("static", False)),
        None if changes is None else Changes(changes["table"], _sorted(changes)),
    )


def _sorted(lookup: Definition) -> str:
    return json.dumps(lookup["definition"], sort_keys=True)


def of_view(view: View) -> Definition:
    if view.table is not None:
        return _table(view, view.table)
    late = {} if view.late is None else {"late": f"drop after {duration.text(view.late)}"}
    lengths = zip(view.window.levels, view.keep, strict=False)
    kept = {level: duration.text(length) for level, length in lengths if length is not None}
    keep = {"keep": kept} if kept else {}
    return (late | keep) | {
        "name": view.name,
        "stream": view.stream.name,
        "by": {key.name: key.expression.sql for key in view.keys},
        "where": None if view.where is None else view.where.sql,
        "window": _window(view.window),
        "select": {
            output.name: _measure(output) if isinstance(output, Measure) else output.expression.sql
            for output in view.outputs
        },
    }


def _table(view: View, table: Table) -> Definition:
    """A table's own definition; what is answered from it is said only where it is not the table itself."""
    shown, own = table.over, view.keys[: -len(ORDER)]
    names = [key.name for key in own]
    itself = {name: ["min", name] for name in (output.name for output in view.outputs)}
    found = of_view(shown)
    aggregated = found["select"] != itself or found["by"] != {name: name for name in names} or found["where"]
    return {
        "name": view.name,
        "stream": view.stream.name,
        "where": None if view.where is None else view.where.sql,
        "table": {
            "key": {key.name: key.expression.sql for key in own},
            "select": {o.name: o.arguments[0].sql for o in view.outputs if isinstance(o, Measure)},
            "delete": None if table.deleted is None else table.deleted.sql,
        },
        **({"over": {name: found[name] for name in ("by", "where", "select")}} if aggregated else {}),
    }


def _measure(measure: Measure) -> list[Any]:
    """Name and arguments; options too, if any is not as it is by default."""
    options = measure.aggregate.options()
    columns = [argument.sql for argument in measure.arguments]
    return [measure.aggregate.name, *columns, *([options] if options else [])]


def identity(view: View) -> str:
    """The hash of everything that decides the view's answers, and of nothing else."""
    source = {name: value for name, value in of_stream(view.stream).items() if name in ("schema", "time")}
    text = json.dumps([of_view(view), source], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _time(time: EventTime) -> Definition:
    match time:
        case FromColumn(column, zone):
            return {"column": column, "zone": zone}
        case Epoch(column, unit):
            return {"epoch": column, "unit": unit}
        case Arrival():
            return {"arrival": True}


def _window(window: Window) -> Definition:
    match window:
        case AllTime():
            return {"all_time": True}
        case Tumbling(length):
            return {"tumbling": duration.text(length)}
        case Sliding(length, every):
            return {"sliding": duration.text(length), "every": duration.text(every)}
        case Session(gap):
            return {"session": duration.text(gap)}
        case Rollup(units, zone):
            return {"rollup": list(units), "zone": zone}


def window_of(definition: Definition) -> Window:
    """The way back from a window's definition."""
    if "tumbling" in definition:
        return tumbling(definition["tumbling"])
    if "sliding" in definition:
        return sliding(definition["sliding"], every=definition["every"])
    if "session" in definition:
        return session(definition["session"])
    if "rollup" in definition:
        return rollup(*definition["rollup"], zone=definition["zone"])
    return AllTime()
