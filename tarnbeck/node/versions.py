"""The jobs that only the store is needed for: listing versions, switching, rolling back, dropping."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tarnbeck.cut import Cut
from tarnbeck.errors import NotReady, StoreError, UsageError, unknown
from tarnbeck.node.register import declared
from tarnbeck.plan.change import changes
from tarnbeck.plan.definition import Definition, of_view
from tarnbeck.store import rules
from tarnbeck.store.protocol import Refused, Store, Switched
from tarnbeck.store.state import VersionState

Job = dict[str, Any]
Lag = Callable[[str, Cut], tuple[int, float]]
"""From a stream and a cut to the records and seconds that it is behind the log."""

PATIENCE = 10.0
"""Seconds that a version may take to catch up with the one that answers: the next commit brings both to one cut."""


@dataclass(frozen=True)
class Office:
    """What these jobs work with; only a node knows how far the log is."""

    store: Store
    lag: Lag | None = None


def run(office: Office, job: Job) -> Any:
    """Does a job and gives its result."""
    return JOBS[job["do"]](office, job)


def _listed(office: Office, job: Job) -> Any:
    store = office.store
    aliases, versions, switches = store.aliases(), store.versions(), store.switches()
    wanted = [known(aliases, view) for view in job.get("views") or sorted(aliases)]
    app = declared(store)
    wished = {name: of_view(view) for name, view in app.views.items()} if app is not None else {}
    found = []
    for view in wanted:
        own = [version for version in versions.values() if version.view == view]
        live = versions[aliases[view]]
        found.append(
            {
                "view": view,
                "declared": view in wished,
                "versions": [_facts(version, live, wished.get(view), office.lag) for version in own],
                "switches": [asdict(switch) for switch in switches if switch.view == view],
            }
        )
    return {"views": found}


def _facts(version: VersionState, live: VersionState, wished: Definition | None, lag: Lag | None) -> dict[str, Any]:
    definition = json.loads(version.definition)
    behind = None if lag is None else lag(version.stream, version.cut)
    return {
        "version": version.id,
        "state": _state(version, live),
        "live": version.id == live.id,
        "declared": definition == wished,
        "cut": str(version.cut),
        "generation_cut": str(version.generation.cut) if version.generation else None,
        "lag_records": None if behind is None else behind[0],
        "lag_seconds": None if behind is None else behind[1],
        "definition": definition,
        "changes": changes(json.loads(live.definition), definition),
    }


def _state(version: VersionState, live: VersionState) -> str:
    if not rules.answerable(version):
        return "building"
    if version.id == live.id:
        return "live"
    return "ready" if rules.may_switch(version, live) else "behind"


def known(aliases: Mapping[str, int], view: str) -> str:
    if view not in aliases:
        raise UsageError(unknown("versions", "view", view, aliases, "the application"))
    return view


def _switched(office: Office, job: Job) -> Any:
    store = office.store
    aliases, versions = store.aliases(), store.versions()
    if "targets" in job:
        return _moved(store, {known(aliases, view): int(to) for view, to in job["targets"].items()}, None, job)
    views = [known(aliases, view) for view in job["views"]]
    wanted = job.get("version")
    if wanted is not None and len(views) != 1:
        raise UsageError("switch: --version goes with one view\n  without it each view goes to its newest version")
    targets = {view: newest_beside(versions, view, aliases[view]) if wanted is None else int(wanted) for view in views}
    return _moved(store, targets, None, job)


def newest_beside(versions: Mapping[int, VersionState], view: str, live: int) -> int:
    """The newest version beside the one that answers."""
    found = [version.id for version in versions.values() if version.view == view and version.id != live]
    if not found:
        raise UsageError(
            f"view '{view}': it has one version, {live}, which answers\n  make another: tarnbeck deploy APP.py"
        )
    return max(found)


def _rolled_back(office: Office, job: Job) -> Any:
    """Takes back the last switch of a view, with all views that switched together: they belong together."""
    store = office.store
    view, switches = known(store.aliases(), str(job["view"])), store.switches()
    own = [switch for switch in switches if switch.view == view]
    if not own:
        raise UsageError(f"view '{view}': it was never switched, so there is nothing to go back to")
    together = [switch for switch in switches if switch.id == own[-1].id]
    back = {switch.view: switch.before for switch in together}
    return _moved(store, back, {switch.view: switch.after for switch in together}, job)


def _moved(store: Store, targets: Mapping[str, int], expected: Mapping[str, int] | None, job: Job) -> Any:
    before, who, why = store.aliases(), str(job.get("who") or ""), str(job.get("reason") or "")
    outcome = _patient(lambda: store.switch(targets, expected, who, why))
    if isinstance(outcome, Refused):
        view = outcome.subject
        raise REFUSALS[outcome.reason](f"view '{view}': " + _WORDS[outcome.reason].format(targets[view], view))
    return {"switched": [{"view": view, "before": before[view], "after": after} for view, after in targets.items()]}


def _patient(switch: Callable[[], Switched | Refused]) -> Switched | Refused:
    pause, waited = threading.Event(), 0.0
    while True:
        outcome = switch()
        if not (isinstance(outcome, Refused) and outcome.reason == "behind") or waited >= PATIENCE:
            return outcome
        pause.wait(0.1)
        waited += 0.1


REFUSALS: dict[str, type[StoreError | NotReady | UsageError]] = {
    "gone": UsageError,
    "alias": StoreError,
    "behind": NotReady,
    "building": NotReady,
}
_WORDS = {
    "gone": "there is no version {0} of it\n  see: tarnbeck versions {1}",
    "alias": "it was switched again since, by itself\n  say where to go: tarnbeck switch {1} --version {0}",
    "behind": "version {0} is behind the one that answers, and an answer never goes back\n  is the node running?",
    "building": "version {0} can't answer yet\n  build it: tarnbeck replay {1}",
}


def _dropped(office: Office, job: Job) -> Any:
    store = office.store
    aliases, versions = store.aliases(), store.versions()
    view, wanted = known(aliases, str(job["view"])), job.get("version")
    if job.get("whole"):
        return _view_dropped(store, view)
    own = [version.id for version in versions.values() if version.view == view]
    others = [version for version in own if version != aliases[view]]
    if wanted is None and len(others) > 1:
        raise UsageError(
            f"view '{view}': several versions don't answer: {', '.join(map(str, others))}\n  say which: --version N"
        )
    target = int(wanted) if wanted is not None else newest_beside(versions, view, aliases[view])
    if target not in own:
        raise UsageError(f"view '{view}': there is no version {target} of it\n  see: tarnbeck versions {view}")
    if target == aliases[view]:
        raise StoreError(
            f"view '{view}': version {target} answers and can't be dropped\n"
            f"  switch to another one first: tarnbeck switch {view}"
        )
    store.drop_version(target)
    store.collect()
    return {"view": view, "dropped": [target]}


def _view_dropped(store: Store, view: str) -> Any:
    app = declared(store)
    if app is not None and view in app.views:
        raise StoreError(
            f"view '{view}': the application declares it, so it would come back\n"
            "  take it out of the file first, and deploy that: tarnbeck deploy APP.py"
        )
    dropped = [version.id for version in store.versions().values() if version.view == view]
    store.drop_view(view)
    store.collect()
    return {"view": view, "dropped": dropped}


JOBS: dict[str, Callable[[Office, Job], Any]] = {
    "versions": _listed,
    "switch": _switched,
    "rollback": _rolled_back,
    "drop": _dropped,
}
