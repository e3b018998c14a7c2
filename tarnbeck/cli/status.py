"""`tarnbeck status`: every part of the running app, and how far it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from tarnbeck.cli import show
from tarnbeck.cli.options import FOLDER, Folder, Json
from tarnbeck.cli.place import store_of

PARTS = ("part", "state", "lag_records", "lag_seconds", "rate", "records", "bytes", "error")
VIEWS = ("view", "version", "state", "cut", "generation_cut", "lag_records", "lag_seconds")
STREAMS = ("stream", "end", "lake_cut", "lag_records", "lag_seconds", "rate")
JOBS = ("job", "view", "step", "done", "left", "seconds")
PROCESSES = ("process", "pid", "cpu", "memory", "up")
TITLES = {
    "lag_records": "records behind",
    "lag_seconds": "seconds behind",
    "rate": "records/s",
    "generation_cut": "batch",
}


def status(json: Json = False, folder: Folder = FOLDER) -> None:
    """Show every part and how far it is.

    Its state, its cut, how far it is behind in events and seconds, its rate, its last error; jobs that run, and how far
    they are.
    """
    from tarnbeck.node.running import running

    node = running(folder)
    told = _asked(node) if node else _stored(folder)
    if json:
        show.say(show.as_json(told))
        return
    show.say(f"app {told['app']} at {told['url']}" if told["url"] else f"no app runs in '{folder}'")
    shared = any(stream.get("owner") for stream in told["streams"])
    streams = (*STREAMS[:1], "owner", *STREAMS[1:]) if shared else STREAMS
    for name, columns in (("parts", PARTS), ("streams", streams), ("views", VIEWS)):
        if told[name]:
            show.rows([TITLES.get(column, column) for column in columns], _rows(told[name], columns))
    if told.get("jobs"):
        show.rows(JOBS, [_job(each) for each in told["jobs"]])
    if told.get("processes"):
        show.rows(PROCESSES, [_process(each) for each in told["processes"]])


def _job(going: dict[str, Any]) -> list[Any]:
    done, left = going["done"], going["left"]
    shown = {"done": None if done is None else f"{done:.0%}", "left": None if left is None else f"{left:.0f} s"}
    return [(going | shown)[column] for column in JOBS]


def _process(found: dict[str, Any]) -> tuple[Any, ...]:
    up = timedelta(seconds=round(found["uptime_seconds"]))
    return found["process"], str(found["pid"]), f"{found['cpu']:.0%}", show.size(found["memory_bytes"]), str(up)


def _rows(found: Sequence[dict[str, Any]], columns: Sequence[str]) -> Iterator[list[Any]]:
    for each in found:
        yield [each.get(column) for column in columns]


def _asked(node: dict[str, Any]) -> dict[str, Any]:
    from tarnbeck.serve.client import control

    return control(node["url"], node["token"]).status()


def _stored(folder: Path) -> dict[str, Any]:
    """What the store knows when no node runs: how far everything is, but not how far the log is."""
    from tarnbeck.store import rules
    from tarnbeck.store.definitions import stream_of

    with store_of(folder) as store:
        streams, versions, aliases = store.streams(), store.versions(), store.aliases()
    views = [
        {
            "view": view,
            "version": alias,
            "state": "answering" if rules.answerable(versions[alias]) else "building",
            "cut": str(versions[alias].cut),
            "generation_cut": str(made.cut) if (made := versions[alias].generation) else None,
        }
        for view, alias in sorted(aliases.items())
    ]
    known = [
        {
            "stream": name,
            "owner": owner.app if (owner := stream_of(state).owner) else None,
            "lake_cut": str(state.lake_cut),
        }
        for name, state in sorted(streams.items())
    ]
    return {"app": None, "url": None, "parts": [], "streams": known, "views": views}
