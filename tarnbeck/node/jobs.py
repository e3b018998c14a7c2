"""The jobs a node can be asked for that need Spark: one function and one registry row each."""

from __future__ import annotations

import base64
import queue
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tarnbeck.batch import audit
from tarnbeck.batch import layer as batch
from tarnbeck.errors import NotReady, UsageError, unknown
from tarnbeck.lake import quarantine
from tarnbeck.lake import tables as lake
from tarnbeck.lake.history import Loaded, load
from tarnbeck.lake.layer import accept_hole
from tarnbeck.lake.tables import Tables
from tarnbeck.log import topics
from tarnbeck.log.pack import key_of
from tarnbeck.log.produce import Sender, Sent, ours
from tarnbeck.node import deploy
from tarnbeck.node.desk import Desk, Job, Tell, Update
from tarnbeck.node.loading import folder_of
from tarnbeck.node.register import declared
from tarnbeck.node.verify import verify
from tarnbeck.replay import layer as replay
from tarnbeck.schema.packs import ARROW
from tarnbeck.speed import merge
from tarnbeck.store import rules
from tarnbeck.store.definitions import own, stream_of
from tarnbeck.store.protocol import Store
from tarnbeck.store.state import StreamState, VersionState

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Step = Callable[[str], None]

SMALL_FILES = 20
"""Files of a lake table above which a compaction pays."""


def run(desk: Desk, job: Job) -> Iterator[Update]:
    """Does a job: updates while it runs, then one with its result."""
    if job.get("do") not in JOBS:
        raise UsageError(unknown("job", "kind", str(job.get("do")), JOBS, "the node"))
    updates: queue.SimpleQueue[Update | None] = queue.SimpleQueue()
    with ThreadPoolExecutor(1, thread_name_prefix="job") as pool:
        result = pool.submit(JOBS[job["do"]], desk, job, updates.put)
        result.add_done_callback(lambda _: updates.put(None))
        yield from _told(desk, updates) if job["do"] not in LANES else iter(updates.get, None)
    yield {"result": result.result()}


def _told(desk: Desk, updates: queue.SimpleQueue[Update | None]) -> Iterator[Update]:
    """Every step as it begins, and how far Spark is with it while it lasts."""
    latest: Update = {}
    while True:
        try:
            update = updates.get(timeout=0.5)
        except queue.Empty:
            done = progress(desk.spark)
            if done != latest.get("done"):
                latest = {**latest, "done": done}
                yield latest
            continue
        if update is None:
            return
        latest = update
        yield latest


def progress(spark: SparkSession) -> float | None:
    """The share of tasks that are done of all jobs that Spark runs now."""
    tracker = spark.sparkContext.statusTracker()
    done = total = 0
    for stage_id in tracker.getActiveStageIds():
        stage = tracker.getStageInfo(stage_id)
        if stage is not None:
            done, total = done + stage.numCompletedTasks, total + stage.numTasks
    return done / total if total else None


def _views(desk: Desk, job: Job) -> list[str]:
    known = desk.store.aliases()
    wanted = job.get("views") or list(known)
    for view in wanted:
        if view not in known:
            raise UsageError(unknown("job", "view", view, known, "the application"))
    return list(wanted)


def _batch(desk: Desk, job: Job, tell: Tell) -> Any:
    wanted = list(_versions(desk.store, _views(desk, job)))
    for view in set(job.get("views") or ()) - {version.view for version in wanted}:
        raise NotReady(f"batch: view '{view}': it is building\n  go on with that: tarnbeck replay {view}")
    done = [_build(desk, version, bool(job.get("full")), tell) for version in wanted]
    desk.store.collect()
    return {"views": done}


def _versions(store: Store, views: list[str]) -> Iterator[VersionState]:
    """The versions that a batch builds: those that answer or could; into the others a replay is brought."""
    versions = store.versions().values()
    for view in views:
        yield from (each for each in versions if each.view == view and rules.answerable(each))


def _build(desk: Desk, version: VersionState, full: bool, tell: Tell) -> Update:
    started = time.monotonic()
    step: Step = lambda text: tell({"view": version.view, "step": text})  # noqa: E731
    app = declared(desk.store)
    if app is not None and app.mode == "kappa":
        made = _merged(desk, version, full, step)
    else:
        made = batch.run(desk.source, version.id, full=full, step=step, stop=desk.stop)
    return {
        **asdict(made),
        "version": version.id,
        "cut": str(made.cut),
        "seconds": round(time.monotonic() - started, 2),
    }


def _merged(desk: Desk, version: VersionState, full: bool, step: Step) -> batch.Done:
    """What takes the batch layer's place where there is none."""
    if full:
        raise UsageError(
            "batch: this app has no batch layer (mode='kappa')\n"
            f"  build the view from history beside the one that answers: tarnbeck replay {version.view}"
        )
    if not version.cut.covers(topics.beginning(desk.log, stream_of(desk.store.streams()[version.stream]).topic)):
        step("catching up from the lake")
        replay.catch_up(desk.source, version, desk.stop)
    step("merging")
    return merge.run(desk.store, version.id, lambda view, span: batch.partial(desk.source, view, span.start, span.end))


def _audit(desk: Desk, job: Job, tell: Tell) -> Any:
    found = []
    for view in _views(desk, job):
        step: Step = lambda text, view=view: tell({"view": view, "step": text})  # type: ignore[misc]  # noqa: E731
        result = audit.run(desk.source, view, step=step)
        found.append({**asdict(result), "cut": str(result.cut), "equal": result.equal, "samples": _samples(result)})
    return {"views": found}


def _verify(desk: Desk, job: Job, tell: Tell) -> Any:
    tell({"view": job["view"], "step": "comparing"})
    return verify(desk.store, job)


def _samples(result: audit.Audit) -> list[Update]:
    return [
        {
            "keys": [str(key) for key in sample.keys],
            "level": sample.level,
            "start": sample.start,
            "served": None if sample.served is None else [str(value) for value in sample.served],
            "recount": None if sample.recount is None else [str(value) for value in sample.recount],
        }
        for sample in result.samples
    ]


def _lake(desk: Desk, job: Job, tell: Tell) -> Any:
    tables = []
    for name, state in own(desk.store.streams()).items():
        tell({"view": name, "step": "reading"})
        where = Tables(desk.root, stream_of(state))
        lake.create(desk.spark, where)
        lag = state.lake_cut.span_to(state.lake_cut.advance(topics.end(desk.log, where.stream.topic))).records
        for kind, path in (("events", where.events), ("quarantine", where.quarantine)):
            size = lake.size(desk.spark, path)
            tables.append({"stream": name, "table": kind, **asdict(size), "cut": str(state.lake_cut), "lag": lag})
    return {"tables": tables}


def _history(desk: Desk, job: Job, tell: Tell) -> Any:
    known, name = desk.store.streams(), str(job["stream"])
    if name not in known:
        raise UsageError(unknown("history", "stream", name, known, "the application"))

    def told(now: Loaded) -> None:
        tell({"view": name, "step": f"{now.rows:,} rows of {now.files:,} files"})

    base = folder_of(desk.store)
    return asdict(load(desk.spark, desk.store, desk.root, name, base, told=told, stop=desk.stop))


def _accept_hole(desk: Desk, job: Job, tell: Tell) -> Any:
    known, name, reason = desk.store.streams(), str(job["stream"]), str(job.get("reason") or "").strip()
    if name not in known:
        raise UsageError(unknown("lake", "stream", name, known, "the application"))
    ours(stream_of(known[name]), "lake --accept-hole")
    if not reason:
        raise UsageError("lake: a hole is accepted with a reason, which is kept\n  add one: --reason TEXT")
    cut = accept_hole(desk.spark, desk.log, desk.store, desk.root, name, reason)
    return {"stream": name, "lost": known[name].lake_cut.span_to(cut).records, "cut": str(cut)}


def _optimize(desk: Desk, job: Job, tell: Tell) -> Any:
    merged = []
    for state in own(desk.store.streams()).values():
        where = Tables(desk.root, stream_of(state))
        lake.create(desk.spark, where)
        for path in (where.events, where.quarantine):
            if lake.size(desk.spark, path).files > SMALL_FILES:
                tell({"view": state.name, "step": "compacting"})
                lake.optimize(desk.spark, path)
                merged.append(path)
    return {"merged": merged}


def _quarantine(desk: Desk, job: Job, tell: Tell) -> Any:
    if job.get("action") not in ACTIONS:
        raise UsageError(unknown("quarantine", "action", str(job.get("action")), ACTIONS, "it"))
    return ACTIONS[job["action"]](desk, job)


def _streams(desk: Desk, job: Job) -> dict[str, StreamState]:
    known = desk.store.streams()
    wanted = job.get("stream")
    if wanted is not None and wanted not in known:
        raise UsageError(unknown("quarantine", "stream", wanted, known, "the application"))
    if wanted is not None and wanted not in own(known):
        ours(stream_of(known[wanted]), f"quarantine {job.get('action', 'list')}")
    return {name: state for name, state in own(known).items() if wanted in (None, name)}


def _listed(desk: Desk, job: Job) -> Any:
    limit = min(max(int(job.get("limit", 100)), 1), 10_000)
    found: list[Update] = []
    for name, state in _streams(desk, job).items():
        rows = quarantine.newest(desk.spark, Tables(desk.root, stream_of(state)), state, limit + 1)
        found += [{"stream": name, **row.place(), "reason": row.reason, "size": len(row.value or b"")} for row in rows]
    found.sort(key=lambda row: row["received"], reverse=True)
    return {"events": found[:limit], "more": len(found) > limit}


def _shown(desk: Desk, job: Job) -> Any:
    ((name, state),) = _streams(desk, job).items()
    row = quarantine.one(desk.spark, Tables(desk.root, stream_of(state)), state, _place(job["place"]))
    value, encoding = _readable(row.value)
    return {
        "event": {"stream": name, **row.place(), "reason": row.reason, "value": value, "encoding": encoding},
    }


def _place(place: list[int | None]) -> quarantine.Place:
    """A place as JSON has it: partition, offset and, if one event of a pack is meant, its index."""
    partition, offset, index = [*place, None][:3]
    return int(partition or 0), int(offset or 0), None if index is None else int(index)


def _readable(value: bytes | None) -> tuple[str | None, str]:
    if value is None:
        return None, "none"
    try:
        return value.decode(), "text"
    except UnicodeDecodeError:
        return base64.b64encode(value).decode(), "base64"


def _retried(desk: Desk, job: Job) -> Any:
    """Appends quarantined events to the log again, each as a record of its own: nothing is inserted below a cut.

    A pack that could not be taken apart goes again as a whole; only Arrow can be so broken, lines can always be told.
    """
    ((_, state),) = _streams(desk, job).items()
    tables = Tables(desk.root, stream_of(state))
    places = None if job.get("places") is None else {_place(place) for place in job["places"]}
    rows = quarantine.select(desk.spark, tables, state, places)
    with Sender(desk.log, tables.stream) as sender:
        for row in rows:
            key = key_of(tables.stream, row.value or b"") if row.key is None else row.key
            sender.send(row.value or b"", key, content_type=ARROW if row.index is None else None)
        sent: Sent = sender.flush()
    return {
        "sent": sent.acknowledged,
        "failed": sent.failed,
        "offsets": {str(o.partition): [o.first, o.last] for o in sent.offsets},
    }


ACTIONS: dict[str, Callable[[Desk, Job], Any]] = {"list": _listed, "show": _shown, "retry": _retried}

JOBS: dict[str, Callable[[Desk, Job, Tell], Any]] = {
    "batch": _batch,
    "deploy": deploy.deploy,
    "replay": deploy.replayed,
    "verify": _verify,
    "audit": _audit,
    "lake": _lake,
    "history": _history,
    "accept-hole": _accept_hole,
    "optimize": _optimize,
    "quarantine": _quarantine,
}

WITHOUT_LAKE = frozenset({"accept-hole", "deploy", "history", "replay", "verify"})
"""Jobs that don't need the lake to be as far as the log, or wait for it themselves."""
LANES = {"deploy": "replay", "replay": "replay", "history": "history", "verify": "verify"}
"""Jobs that may take hours, or that somebody waits for who should not wait for a batch: a worker for each lane."""
