"""Declarations as JSON: what the catalog keeps, what a version's identity is the hash of, and the way back."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import Any

from tarnbeck.plan.view import Measure, View
from tarnbeck.schema.stream import Arrival, Derivation, Epoch, EventTime, FromColumn, Stream
from tarnbeck.window import duration
from tarnbeck.window.window import AllTime, Rollup, Session, Sliding, Tumbling, Window

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
        **({} if stream.owner is None else {"owner": asdict(stream.owner)}),
    }


def _derived(derived: Derivation) -> Definition:
    return {
        "source": derived.source,
        "where": derived.where,
        "select": dict(derived.select),
        "late": None if derived.late is None else duration.text(derived.late),
    }


def of_view(view: View) -> Definition:
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
