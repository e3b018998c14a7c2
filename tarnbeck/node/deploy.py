"""The jobs that make new versions of views: deploying a changed application, and replaying history into a view."""

from __future__ import annotations

import json
import time
from dataclasses import asdict

from tarnbeck.app import App
from tarnbeck.errors import UsageError, unknown
from tarnbeck.node.desk import Desk, Job, Tell, Update
from tarnbeck.node.register import add, declared, outlook, register
from tarnbeck.replay import layer as replay
from tarnbeck.replay.layer import Pace
from tarnbeck.store import rules
from tarnbeck.store.definitions import view_of
from tarnbeck.store.protocol import Store

RATE = "max_rate"


def deploy(desk: Desk, job: Job, tell: Tell) -> Update:
    """Brings a whole declaration in: new views and new versions of changed ones are built; none of them is switched."""
    app = App.of(job["app"])
    before = set(desk.store.aliases())
    registered = register(app, desk.store, desk.log)
    for view in registered.changed:
        add(app.views[view], desk.store)
    after = outlook(app, desk.store)
    built = [_replayed(desk, version, job, tell) for version in after.building]
    return {
        "versions": built,
        "changed": {view: list(lines) for view, lines in registered.changed.items()},
        "added": [view for view in app.views if view not in before],
        "ready": dict(after.waiting),
        "removed": list(after.removed),
    }


def replayed(desk: Desk, job: Job, tell: Tell) -> Update:
    """Builds versions that can't answer yet; for a view, one is made first if there is none."""
    wanted = job.get("versions") or [_unfinished(desk.store, str(job["view"]))]
    return {"versions": [_replayed(desk, int(version), job, tell) for version in wanted]}


def _unfinished(store: Store, view: str) -> int:
    aliases, versions = store.aliases(), store.versions()
    if view not in aliases:
        raise UsageError(unknown("replay", "view", view, aliases, "the application"))
    building = [v.id for v in versions.values() if v.view == view and not rules.answerable(v)]
    if building:
        return max(building)
    app = declared(store)
    if app is not None and view in app.views:
        return add(app.views[view], store).id
    return add(view_of(versions[aliases[view]], store.streams()), store).id


def _replayed(desk: Desk, version: int, job: Job, tell: Tell) -> Update:
    began, max_rate = time.monotonic(), _rate(desk.store, job)
    found = desk.store.versions().get(version)
    if found is None:
        raise UsageError(f"replay: there is no version {version}\n  see: tarnbeck versions")
    name = f"{found.view} version {version}"

    def told(pace: Pace) -> None:
        share = pace.done / pace.records if pace.records else 1.0
        step = f"{pace.done:,} of {pace.records:,} records"
        tell({"view": name, "step": step, "done": share, "left": pace.left})

    done = replay.run(
        desk.source,
        version,
        max_rate=max_rate,
        step=lambda text: tell({"view": name, "step": text}),
        told=told,
        stop=desk.stop,
    )
    seconds = round(time.monotonic() - began, 2)
    return {**asdict(done), "start": str(done.start), "cut": str(done.cut), "seconds": seconds}


def _rate(store: Store, job: Job) -> float | None:
    """The rate that is asked for; it holds, too, for whoever goes on after a crash and asks for none."""
    if RATE not in job:
        return json.loads(store.meta(RATE) or "null")  # type: ignore[no-any-return]
    given: float | None = job[RATE]
    if given is not None and not given > 0:
        raise UsageError(f"replay: bad rate {given}\n  expected a number of records per second above 0")
    store.set_meta(RATE, json.dumps(given))
    return given
