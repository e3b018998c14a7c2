"""One machine's whole tarnbeck: broker, live process, work process and serving, started and stopped in order."""

from __future__ import annotations

import dataclasses
import json
import os
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import IO, Any, Self

from tarnbeck.alert.layer import Alerts, Setting
from tarnbeck.app import App
from tarnbeck.errors import LakeError, SetupError
from tarnbeck.log import broker
from tarnbeck.log.broker import Broker
from tarnbeck.log.settings import LogSettings
from tarnbeck.node import private, progress, versions
from tarnbeck.node.asked import Asked
from tarnbeck.node.channel import Child, Message
from tarnbeck.node.flow import Flow
from tarnbeck.node.grow import grow
from tarnbeck.node.loading import FILE
from tarnbeck.node.lock import hold
from tarnbeck.node.logs import shared
from tarnbeck.node.processes import Meter
from tarnbeck.node.progress import Watch
from tarnbeck.node.register import register, told
from tarnbeck.node.settings import PORT, Settings
from tarnbeck.node.versions import Office
from tarnbeck.serve import alerts
from tarnbeck.serve.clock import now
from tarnbeck.serve.events import senders
from tarnbeck.serve.http import application
from tarnbeck.serve.server import Server, serve
from tarnbeck.spark.supervised import Ended
from tarnbeck.store import rules
from tarnbeck.store.definitions import stream_of
from tarnbeck.store.foreign import ROOT
from tarnbeck.store.sqlite import SQLiteStore
from tarnbeck.store.state import VersionState

STARTS_WITHIN = 120.0
STOPS_WITHIN = 15.0
LONGEST_PAUSE = 30.0
RESUMES_AFTER = 5.0
Tell = Callable[[str], None]


class Node:
    """A running node; it is also the Control that the HTTP API and the CLI ask."""

    def __init__(self, settings: Settings, app: App) -> None:
        self.settings, self.app = settings, app
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._children: dict[str, Child] = {}
        self._spawning, self._registered = threading.Lock(), False
        self._flow = Flow()
        self._meter = Meter(self._processes)
        self._errors: dict[str, str] = {}
        self._given_up: set[str] = set()
        self._restarts = 0
        self._loading = True
        self._asked = Asked()
        self._folder_lock: IO[bytes] | None = None
        self._broker: Broker | None = None
        self._server: Server | None = None
        self._tell: Tell = lambda _: None
        self.url = self.token = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self, told: Tell) -> None:
        """Starts every part; what goes wrong is raised after what was started has been stopped again."""
        self._tell = told
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self) -> None:
        self._folder_lock = hold(self.settings.folder)
        self.store = SQLiteStore(self.settings.store, now)
        # Spark needs as long to start as everything else, and nothing of it.
        for part in ("live", "work"):
            self._spawn(part)
        if self.settings.broker is None:
            # What is declared no more is fed until it is dropped, so its log is needed all the same.
            known = {name: stream_of(state) for name, state in self.store.streams().items()}
            log = shared(self.settings.folder, {**known, **self.app.streams}.values()) or self._own_log()
            self.settings = dataclasses.replace(self.settings, broker=log.bootstrap)
        self.log: LogSettings = self.settings.log()
        self._tell(f"log at {self.log.bootstrap}")
        for line in grow(self.app, self.store, self.log):
            self._tell(line)
        if self.settings.app is not None:
            self.store.set_meta(FILE, str(self.settings.app))
        self.store.set_meta(ROOT, self.settings.lake_root if self.settings.lake else "")
        registered = register(self.app, self.store, self.log)
        self._tell(f"{len(self.app.streams)} streams, {len(self.app.views)} views registered")
        for line in told(registered):
            self._tell(line)
        self._tell("starting Spark")
        with self._spawning:
            self._registered = True
            for child in self._children.values():
                child.tell(self.settings)
        # The work process gives way to what is live: what it is asked for meanwhile waits until it has started.
        self._children["live"].await_ready(STARTS_WITHIN)
        self.watch = Watch(self.log, self.store)
        self._begin("watch", lambda: self.watch.run(self._stop))
        self.alerts = Alerts(Setting(self.store, senders(self.log), now, self.status, self._tell), self.app)
        self._serve()
        self._begin("alerts", lambda: self.alerts.run(self._stop))
        self._begin("replay", lambda: self._resume(registered.building))
        self._begin("history", self._load_history)
        self._begin("schedule", self._schedule)

    def _own_log(self) -> LogSettings:
        self._tell("starting the broker")
        self._broker = broker.start(self.settings.folder)
        return self._broker.settings

    def _begin(self, name: str, target: Callable[[], None]) -> None:
        thread = threading.Thread(target=target, name=f"node-{name}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _spawn(self, part: str) -> None:
        with self._spawning:
            child = Child(f"tarnbeck.node.{part}", self.settings, lambda m: self._received(part, m))
            if self._registered:
                child.tell(self.settings)
            self._children[part] = child

    def _serve(self) -> None:
        self.token = self.settings.token or secrets.token_urlsafe(32)
        api = application(self.store, log=self.log, control=self, token=self.token, host=self.settings.host)
        self._server = _listening(api, self.settings)
        self.url = self._server.url
        facts = {
            "pid": os.getpid(),
            "url": self.url,
            "token": self.token,
            "app": self.app.name,
            "broker": self.log.bootstrap,
        }
        private.write(self.settings.folder / "node.json", json.dumps(facts))
        self._tell(f"page and HTTP API at {self.url}")

    def _received(self, part: str, message: Message) -> None:
        if "counts" in message:
            self._flow.take(message["counts"], message["seconds"])
            for recovered in message["counts"]:
                self._errors.pop(recovered, None)
        elif "failed" in message:
            told, self._errors[message["part"]] = self._errors.get(message["part"]), message["failed"]
            if message["kind"] == Ended.__name__:
                self._given_up.add(message["part"])
            if told != message["failed"]:
                # What fails again and again in the same way is told once.
                self._tell(f"{message['part']}: {message['failed'].splitlines()[0]}")
        elif "id" in message:
            self._asked.take(message)
        elif "ended" in message and not self._stop.is_set():
            self._ended(part, message["ended"])

    def _ended(self, part: str, code: int) -> None:
        """A process that died is started again; what it was asked for is told to have failed."""
        self._errors[part] = f"the {part} process ended with code {code} and was started again"
        self._tell(self._errors[part])
        if part == "work":
            self._asked.lost(self._errors[part])
        self._restarts += 1
        if not self._stop.wait(min(2.0**self._restarts, LONGEST_PAUSE)):
            self._spawn(part)

    def run(self, job: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Hands a job to the work process and gives its updates; the last is a result or an error."""
        if job.get("do") in versions.JOBS:
            # Who switches must not wait behind a batch.
            yield {"result": versions.run(Office(self.store, self.watch.lag), job)}
            return
        if job.get("do") == alerts.TEST:
            yield {"result": {"told": self.alerts.test(str(job.get("rule")))}}
            return
        yield from self._asked.run(self._children["work"].send, job)

    def _resume(self, building: Sequence[int]) -> None:
        """Replays history into what can't answer yet, at the rate that was last allowed, until all can."""
        while building and not self._stop.is_set():
            self._job({"do": "replay", "versions": list(building)})
            versions = self.store.versions()
            building = [each for each in building if each in versions and not rules.answerable(versions[each])]
            self._stop.wait(RESUMES_AFTER if building else 0)

    def _load_history(self) -> None:
        """Loads the files of older events, one stream after the other, and lets views take them in."""
        for stream in [stream.name for stream in self.app.streams.values() if stream.history]:
            if self._load(stream):
                behind = {each.view for each in self.store.versions().values() if self._lacks_history(each)}
                if behind:
                    self._job({"do": "batch", "views": sorted(behind)})
        self._loading = False

    def _load(self, stream: str) -> bool:
        """Whether all files are loaded; what a person must decide is not tried again."""
        while not self._stop.is_set():
            *_, last = self.run({"do": "history", "stream": stream})
            if "result" in last:
                self._errors.pop("history", None)
                done = last["result"]
                self._tell(f"history: {stream} has {done['rows']:,} rows of {done['files']} files in the lake")
                return True
            if self._stop.is_set():
                return False
            self._errors["history"] = last["error"]["message"]
            self._tell(f"history: {last['error']['message'].splitlines()[0]}")
            if last["error"]["kind"] == LakeError.__name__:
                return False
            self._stop.wait(RESUMES_AFTER)
        return False

    def _lacks_history(self, version: VersionState) -> bool:
        return rules.answerable(version) and version.cut.history < self.store.lake_cut(version.stream).history

    def _schedule(self) -> None:
        """Runs a batch of every view as often as asked."""
        every = self.settings.batch_every
        while every is not None and not self._stop.wait(every / 1e6):
            self._job({"do": "batch", "views": []})
            self._job({"do": "optimize"})

    def _job(self, job: dict[str, Any]) -> None:
        last: dict[str, Any] = {}
        for update in self.run(job):
            last = update
            if self._stop.is_set():
                return
        if "error" in last:
            self._errors["batch"] = last["error"]["message"]
            self._tell(f"{job['do']}: {last['error']['message'].splitlines()[0]}")
        else:
            self._errors.pop("batch", None)
            for line in reported(last["result"]):
                self._tell(line)

    def status(self) -> dict[str, Any]:
        """Every part, its cut, its lag, its rate and its last error."""
        streams, views = progress.streams(self.store, self.watch), progress.views(self.store, self.watch)
        error = self.alerts.error
        parts = [
            self._part("log", "running" if self.watch.error is None else "failed", [], error=self.watch.error),
            self._part("lake", self._state("live", "lake"), streams),
            self._part("speed", self._state("live", "speed"), views),
            *([self._part("derive", self._state("live", "derive"), [])] if self._derives() else []),
            *([self._part("history", self._history_state(), [])] if self._has_history() else []),
            *([self._part("use", self._state("live", "use"), [])] if self._uses() else []),
            self._part("batch", self._state("work", "batch"), []),
            *([self._part("alerts", "failed" if error else "running", [], error=error)] if self.app.alerts else []),
            self._part("serving", "running", []),
        ]
        found = {"app": self.app.name, "url": self.url, "parts": parts, "streams": streams, "views": views}
        return found | {"jobs": self._asked.going(), "processes": self._meter.figures()}

    def _processes(self) -> dict[str, int]:
        broker = {} if self._broker is None else {"broker": self._broker.pid}
        return {"node": os.getpid(), **{name: child.process.pid for name, child in self._children.items()}, **broker}

    def _derives(self) -> bool:
        return any(stream.derived is not None for stream in self.app.streams.values())

    def _has_history(self) -> bool:
        return any(stream.history for stream in self.app.streams.values())

    def _history_state(self) -> str:
        state = self._state("work", "history")
        return "done" if state == "running" and not self._loading else state

    def _uses(self) -> bool:
        return any(stream.owner is not None for stream in self.app.streams.values())

    def _state(self, process: str, part: str) -> str:
        if part in self._given_up or self._children[process].process.poll() is not None:
            return "stopped"
        return "failed" if part in self._errors else "running"

    def _part(self, name: str, state: str, followed: list[dict[str, Any]], error: str | None = None) -> dict[str, Any]:
        return {
            "part": name,
            "state": state,
            "lag_records": max((each["lag_records"] for each in followed), default=0),
            "lag_seconds": max((each["lag_seconds"] for each in followed), default=0.0),
            **self._flow.of(name),
            "error": error or self._errors.get(name),
        }

    def wait(self, stop: threading.Event) -> None:
        """Until told to stop."""
        while not stop.wait(0.5):
            pass

    def stop(self) -> None:
        """Stops every part, the log last; calling it twice is fine."""
        self._stop.set()
        if self._server is not None:
            self._server.stop()
            self._server = None
        stopping = [threading.Thread(target=child.stop, args=(STOPS_WITHIN,)) for child in self._children.values()]
        for thread in stopping:
            thread.start()
        for thread in [*stopping, *self._threads]:
            thread.join(timeout=STOPS_WITHIN + 5)
        self._children = {}
        if self._broker is not None:
            self._broker.stop()
            self._broker = None
        if self._folder_lock is not None:
            (self.settings.folder / "node.json").unlink(missing_ok=True)
            self._folder_lock.close()
            self._folder_lock = None


def reported(result: dict[str, Any]) -> Iterator[str]:
    """What a batch or a replay has done."""
    for made in result.get("views", []):
        how = "in full" if made["full"] else "incrementally"
        yield f"batch: {made['view']} {how} up to {made['cut']} in {made['seconds']} s"
    for made in result.get("versions", []):
        yield f"replay: {made['view']} {made['records']:,} records up to {made['cut']} in {made['seconds']} s"


def _listening(api: Any, settings: Settings) -> Server:
    """The server on its port; the usual one gives way to a free one when it is taken."""
    try:
        return serve(api, settings.host, settings.port)
    except SetupError:
        if settings.port != PORT:
            raise
        return serve(api, settings.host, 0)
