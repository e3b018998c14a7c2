"""The processes around the store as generators: at every yield a process can be paused for ever long, or die."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from tarnbeck.cut import Cut
from tarnbeck.store import rules
from tarnbeck.store.protocol import HISTORY, LAKE, SPEED, Contribution, Fenced, Refused, Switched
from tarnbeck.store.state import Feeder, Intent, VersionState
from tests.simulator import choices
from tests.simulator.log import BROKEN, Event
from tests.simulator.world import LAYOUT, STREAM, Violation, World, files, partial

Actor = Iterator[None]


def reader(world: World) -> Actor:
    """One query; the naive one looks at the store anew for each thing it needs."""
    if choices.in_one_snapshot():
        yield from world.query()
        return
    for name in list(world.store.aliases()):
        yield from _scattered(world, name)


def _scattered(world: World, name: str) -> Actor:
    incarnation = world.incarnations[name]

    def same() -> bool:
        return name in world.store.aliases() and world.incarnations[name] == incarnation

    if not same():
        return
    with world.store.snapshot([name]) as moment:
        version = moment.versions[name]
    if not rules.answerable(version):
        return
    rows = []
    for of_generation in (True, False):
        yield
        if not same():
            return
        with world.store.snapshot([name]) as moment:
            parts, first = moment.parts(name), 1 if moment.versions[name].generation else 0
            rows += [row for part in (parts[:first] if of_generation else parts[first:]) for row in part]
    world.check_rows(version, rows)


def lake(world: World) -> Actor:
    """The lake writer: intent, quarantine, events, close."""
    token = world.store.take_token(LAKE)
    yield
    while True:
        intent = choices.resumed(world.stream().intent)
        if intent is None:
            start = world.lake_cut().log
            yield
            try:
                intent = _planned(world, token, start)
            except Fenced:
                world.happened["lake fenced"] += 1
                return
            yield
        if intent is not None:
            yield from _written(world, intent)


def _planned(world: World, token: int, start: Cut) -> Intent | None:
    planned = world.plan(start)
    rows = world.log.read(start, planned)
    end = choices.lake_end(start, planned, rows)
    if end == start or not choices.worth_committing(rows):
        world.store.check_token(LAKE, token)
        return None
    return world.store.open_intent(token, STREAM, start, end)


def _written(world: World, intent: Intent) -> Actor:
    rows = world.log.read(intent.start, intent.end)
    broken = world.log.read(intent.start, intent.end, BROKEN)
    if choices.gap(world.log, intent.start):
        yield
        return
    yield
    world.quarantine.append(broken, choices.quarantined_once(intent.id), LAKE)
    yield
    world.events.append(rows, intent.id, LAKE)
    yield
    world.happened[f"lake closed {world.store.close_intent(intent)}"] += 1
    yield


def loader(world: World) -> Actor:
    """Loads files into the lake beside the lake writer, a few rows at a time."""
    token = world.store.take_token(HISTORY)
    yield
    while True:
        intent = choices.resumed(world.stream().loading)
        if intent is None:
            have = world.lake_cut()
            yield
            rows = min(world.history, have.history + (99 if world.quiet else 3))
            try:
                if rows == have.history:
                    world.store.check_token(HISTORY, token)
                else:
                    intent = world.store.open_intent(token, STREAM, have, have.with_history(rows))
            except Fenced:
                world.happened["load fenced"] += 1
                return
            yield
        if intent is not None:
            world.events.append(files(intent.end, intent.start), intent.id, HISTORY)
            yield
            world.happened[f"load closed {world.store.close_intent(intent)}"] += 1
            yield


def speed(world: World) -> Actor:
    """The live query: one micro-batch after another over all fed views."""
    token = world.store.take_token(SPEED)
    yield
    position, planned = choices.restarted(world.checkpoint)
    while True:
        _hand_back(world)
        fed = [version for version in world.store.fed() if not choices.gap(world.log, version.cut)]
        if not fed:
            yield
            continue
        lowest = reduce(Cut.meet, [version.cut for version in fed]).log
        if position is None or choices.must_rewind(lowest, position):
            position, planned = lowest, None
        end = planned or world.plan(position)
        if end == position and planned is None:
            yield
            continue
        world.checkpoint = position, end
        yield
        rows = world.log.read(position, end)
        if choices.gap(world.log, position):
            position, planned = choices.restarted((position, planned))
            yield
            continue
        yield
        try:
            refused = _commit(world, token, fed, position, end, rows)
        except Fenced:
            world.happened["commit fenced"] += 1
            return
        position, planned = choices.after_refusal((position, end)) if refused else (end, None)
        world.checkpoint = position, planned
        yield


def _hand_back(world: World) -> None:
    """Without a batch layer nobody leaps: a view that retention overtook goes to a replay writer."""
    if world.kappa and choices.replays_from_lake():
        for version in world.store.fed():
            if world.log.lost(version.cut):
                world.store.hand_back(version.id)


def _commit(
    world: World, token: int | None, fed: list[VersionState], position: Cut, end: Cut, rows: list[Event]
) -> bool:
    """Commit each view's share; True when one was refused, or is behind the batch and could not take part."""
    shares, behind = [], False
    for version in fed:
        start = choices.start_for(version.cut, position.with_history(version.cut.history))
        if not start.covers(position):
            behind = True
            continue
        own = [(p, offset) for p, offset in rows if offset >= start[p]]
        shares.append(Contribution(version.id, start, end, LAYOUT, partial(own, version.definition)))
    committed = world.store.commit(token, shares)
    world.happened["commit done"] += len(committed.done)
    world.happened["commit refused"] += len(committed.refused)
    world.happened["commit gone"] += len(committed.gone)
    return behind or bool(committed.refused)


def replay(world: World, version_id: int) -> Actor:
    """Feeds one version, from the lake or the log, until the live query can take it over."""
    while True:
        version = world.store.versions().get(version_id)
        if version is None or version.feeder is not Feeder.REPLAY:
            return
        lost, alone = world.log.lost(version.cut), not world.store.fed()
        if not lost and (not alone or version.cut.covers(world.log.end())) and _handed_over(world, version):
            return
        yield
        lost = world.log.lost(version.cut)
        if lost and not (choices.replays_from_lake() and _ahead(world.lake_cut().log, version.cut.log)):
            yield
            continue
        end = world.lake_cut().log if lost else world.plan(version.cut)
        yield
        rows = world.events.read(version.cut, end) if lost else world.log.read(version.cut, end)
        if not lost and choices.gap(world.log, version.cut):
            continue
        yield
        _commit(world, None, [version], version.cut, end, rows)
        yield


def _handed_over(world: World, version: VersionState) -> bool:
    before = [other.cut for other in world.store.fed()]
    if not world.store.hand_over(version.id):
        return False
    if before and not version.cut.covers(reduce(Cut.meet, before).log):
        raise Violation(f"held back: the live query was taken back to {version.cut} by a hand-over")
    world.happened["handed over"] += 1
    return True


def _ahead(cut: Cut, of: Cut) -> bool:
    return cut.covers(of) and cut != of


def rollback(world: World) -> Actor:
    """Takes back the newest switch, of all views that it moved, unless another one came between."""
    history = world.store.switches()
    if not history:
        return
    last = [found for found in history if found.id == history[-1].id]
    yield
    aliases = world.store.aliases()
    outcome = world.store.switch({s.view: s.before for s in last}, {s.view: s.after for s in last})
    world.happened[f"rollback {outcome.reason if isinstance(outcome, Refused) else 'done'}"] += 1
    if isinstance(outcome, Switched) and any(aliases[s.view] != s.after for s in last):
        raise Violation(f"disturbed: a rollback took back {last}, which no longer held")


def switch(world: World) -> Actor:
    """Moves all views to their other version."""
    versions, aliases = world.store.versions(), world.store.aliases()
    targets = {}
    for name, live in aliases.items():
        others = [version.id for version in versions.values() if version.view == name and version.id != live]
        if others:
            targets[name] = others[0]
    for chosen in [targets] if choices.in_one_switch() else [{name: target} for name, target in targets.items()]:
        world.happened[f"switch {type(world.store.switch(chosen)).__name__}"] += 1
        yield
