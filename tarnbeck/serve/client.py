"""Answers for Python: from a data folder on this machine, or from a server."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

import pyarrow as pa

from tarnbeck.errors import LogError, UsageError, unknown
from tarnbeck.schema.packs import GivesArrow
from tarnbeck.serve import catalog
from tarnbeck.serve.answer import LIMIT, Answer, Question, answers
from tarnbeck.serve.clock import now
from tarnbeck.serve.control import Control
from tarnbeck.serve.follow import Live, Updates, follow
from tarnbeck.serve.held import when
from tarnbeck.serve.moment import compared, resolve
from tarnbeck.serve.parameters import HEARTBEAT, live
from tarnbeck.serve.parameters import wait as waiting
from tarnbeck.serve.remote import Events, Link, Remote, RemoteControl, sent_over
from tarnbeck.serve.shape import By, Shape, read
from tarnbeck.serve.table import SqlAnswer
from tarnbeck.store.definitions import stream_of
from tarnbeck.store.sqlite import SQLiteStore

if TYPE_CHECKING:
    from tarnbeck.log.produce import Sent
    from tarnbeck.replay.fold import Folded, Step
    from tarnbeck.schema.stream import Stream

FOLDER = ".tarnbeck"


class Source(Protocol):
    """Where a client gets its answers from."""

    def query(self, view: str, keys: Mapping[str, Any], options: Mapping[str, Any], shape: Shape) -> Answer: ...
    def sql(self, text: str, limit: int, wait: float | None) -> SqlAnswer: ...
    def live(
        self, view: str, keys: Mapping[str, Any], options: Mapping[str, Any], shape: Shape, seconds: float | None
    ) -> Updates: ...
    def views(self) -> list[dict[str, Any]]: ...
    def send(self, stream: str, events: Events) -> Sent: ...
    def fold(self, stream: str, step: Step, start: Any, by: str | Sequence[str] | None) -> Folded: ...
    def close(self) -> None: ...


def connect(where: str | Path = FOLDER) -> Client:
    """A client of the application in a folder, or of the server at a URL.

    A folder can be asked whether its application runs or not.
    """
    if isinstance(where, str) and "://" in where:
        return Client(Remote(where))
    return Client(Folder(Path(where)))


def control(url: str, token: str) -> Control:
    """The control of the node at a URL."""
    return RemoteControl(url, token)


class Client:
    """Asks one application; a context manager."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def query(
        self,
        view: str,
        /,
        *,
        last: str | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        per: str | None = None,
        limit: int = LIMIT,
        wait: float | None = None,
        keys: Mapping[str, Any] | None = None,
        by: By | None = None,
        every: str | None = None,
        fill: bool = False,
        cumulative: bool = False,
        having: str | None = None,
        top: str | None = None,
        ask: Mapping[str, Any] | Sequence[str] | None = None,
        bounds: bool = False,
        against: str | None = None,
        as_of: str | datetime | None = None,
        known: str | datetime | None = None,
        at_cut: str | None = None,
        **named: Any,
    ) -> Answer:
        """The rows of a view, with the cut they cover: `query("ohlc", currency="EUR", last="1h")`.

        Keys are given by name, with one value or a list of them; one that is called like a parameter goes into
        `keys`. With `wait`, a view that is
        building is waited for, so many seconds at most.

        Coarser than stored, from the same states: `by` groups by some of the keys or by expressions over them, `""`
        takes all together; `every` puts windows together to longer ones, "all" to one. `fill` adds windows without
        events, `cumulative` adds up from window to window of the range, `having` keeps the rows for which a condition
        is true, `top` puts the greatest of a column first.

        `ask` names the value that an output is asked about, such as the share of a quantile; `bounds` adds columns
        NAME_low and NAME_high to every estimate. `last="1h", against="1d"` compares two ranges, key by key, at one cut:
        each output once for the last hour and once, as `…_against`, for the last day.

        A table, or a view over one, is asked for another moment by `as_of`, a time of its events: what was true then;
        by `known`, a time at which the log had received them, or `at_cut`, such as "0:5 1:7": what was known then.
        """
        options: dict[str, Any] = {"last": last, "since": since, "until": until, "per": per, "limit": limit}
        options["wait"] = wait
        options |= {"against": against, "as_of": as_of, "known": known, "at_cut": at_cut}
        shape = read(by, every, cumulative=cumulative, fill=fill, having=having, top=top, ask=ask, bounds=bounds)
        return self._source.query(view, {**(keys or {}), **named}, options, shape)

    def live(
        self,
        view: str,
        /,
        *,
        on: str = "change",
        heartbeat: float = HEARTBEAT,
        seconds: float | None = None,
        last: str | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        per: str | None = None,
        limit: int = LIMIT,
        keys: Mapping[str, Any] | None = None,
        by: By | None = None,
        every: str | None = None,
        fill: bool = False,
        cumulative: bool = False,
        having: str | None = None,
        top: str | None = None,
        ask: Mapping[str, Any] | Sequence[str] | None = None,
        bounds: bool = False,
        against: str | None = None,
        **named: Any,
    ) -> Live:
        """Updates to the answer of a question, as they come: `for update in live("ohlc", currency="EUR", on="10s")`.

        The question is put as in `query`; a view that is building is waited for. The first update has all rows, the
        others those that are new, changed or closed. `on` says when they come: "change"; "10s", by the clock; "after
        5s", after the first change; or "close", closed windows only. It goes on for `seconds`, or until it is left.
        """
        options: dict[str, Any] = {"last": last, "since": since, "until": until, "per": per, "limit": limit}
        options |= {"against": against, "on": on, "heartbeat": heartbeat}
        shape = read(by, every, cumulative=cumulative, fill=fill, having=having, top=top, ask=ask, bounds=bounds)
        return Live(self._source.live(view, {**(keys or {}), **named}, options, shape, seconds), top)

    def sql(self, text: str, /, *, limit: int = LIMIT, wait: float | None = None) -> SqlAnswer:
        """The answer to one SELECT over views; with `wait`, all of them at one cut."""
        return self._source.sql(text, limit, wait)

    def views(self) -> list[dict[str, Any]]:
        """What can be asked: each view with its keys, levels, outputs, state and cut."""
        return self._source.views()

    def send(self, stream: str, events: Events, /) -> Sent:
        """Sends events, and tells what the log acknowledged and at which offsets.

        They are mappings, or the rows of an Arrow table or of a data frame that gives one, which go as packed records.
        """
        return self._source.send(stream, events)

    def fold(
        self,
        stream: str,
        step: Callable[[Any, dict[str, Any]], Any],
        start: Any,
        /,
        *,
        by: str | Sequence[str] | None = None,
    ) -> Folded:
        """An application's state out of its events: `step(state, event)` gives the state after each, from `start` on.

        With `by`, one state for each key, as a mapping. Events of one key come in the order of the log; those that it
        no longer holds come from the lake. The cut says up to where.
        """
        return self._source.fold(stream, step, start, by)

    def close(self) -> None:
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        self.close()


class Folder:
    """The application in a folder of this machine, as a source of answers."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        if not (folder / "store" / "catalog.db").exists():
            raise UsageError(f"connect: no tarnbeck in {folder}\n  start one: tarnbeck up APP.py, or name its folder")
        self._store = SQLiteStore(folder / "store", now)

    def query(self, view: str, keys: Mapping[str, Any], options: Mapping[str, Any], shape: Shape) -> Answer:
        at = now()
        since, until = resolve(options["last"], options["since"], options["until"], at)
        against = compared(options["against"], options["last"], until, at)
        moment = when(options["as_of"], options["known"], options["at_cut"])
        question = Question(view, keys, options["per"], since, until, options["limit"], shape, against, moment)
        return answers(self._store, [question], same_cut=waiting(f"view '{view}'", options["wait"]))[0]

    def live(
        self, view: str, keys: Mapping[str, Any], options: Mapping[str, Any], shape: Shape, seconds: float | None
    ) -> Updates:
        def question(moment: int) -> Question:
            since, until = resolve(options["last"], options["since"], options["until"], moment)
            against = compared(options["against"], options["last"], until, moment)
            return Question(view, keys, options["per"], since, until, options["limit"], shape, against)

        asked = live(view, view, question, options["on"], options["heartbeat"], now())
        return follow(self._store, asked, now, seconds)

    def sql(self, text: str, limit: int, wait: float | None) -> SqlAnswer:
        # DuckDB and a SQL parser take longer to import than most answers take.
        from tarnbeck.serve.sql import query

        return query(self._store, text, limit=limit, same_cut=waiting("sql", wait))

    def views(self) -> list[dict[str, Any]]:
        return catalog.views(self._store)

    def send(self, stream: str, events: Events) -> Sent:
        known = self._store.streams()
        if stream not in known:
            raise UsageError(unknown("send", "stream", stream, known, "the application"))
        return self._sent(stream_of(known[stream]), events)

    def fold(self, stream: str, step: Step, start: Any, by: str | Sequence[str] | None) -> Folded:
        from tarnbeck.log import broker
        from tarnbeck.replay import fold as replay

        known = self._store.streams()
        if stream not in known:
            raise UsageError(unknown("fold", "stream", stream, known, "the application"))
        running = broker.find(self._folder)
        if running is None:
            raise LogError(f"fold: no log runs in {self._folder}\n  start the application: tarnbeck up APP.py")
        place = replay.Place(running.settings, str(self._folder / "lake"), self._folder)
        return replay.fold(place, known[stream], step, start, by)

    def _sent(self, stream: Stream, events: Events) -> Sent:
        """Through the node that runs here, which knows its log, else straight to the folder's own broker."""
        from tarnbeck.log import broker
        from tarnbeck.log.produce import send_events, send_table

        url = self._node()
        if url is not None:
            link = Link(url)
            try:
                return sent_over(link, stream, events)
            finally:
                link.close()
        running = broker.find(self._folder)
        if running is None:
            raise LogError(f"send: no log runs in {self._folder}\n  start the application: tarnbeck up APP.py")
        if isinstance(events, GivesArrow):
            return send_table(running.settings, stream, pa.table(events))
        return send_events(running.settings, stream, events)

    def _node(self) -> str | None:
        """The URL of the node that runs here; a file that a killed one left behind names none that answers."""
        try:
            url = str(json.loads((self._folder / "node.json").read_text())["url"])
        except FileNotFoundError:
            return None
        link = Link(url)
        try:
            link.call("GET", "/healthz", None, {}, again=False)
        except LogError:
            return None
        finally:
            link.close()
        return url

    def close(self) -> None:
        self._store.close()
