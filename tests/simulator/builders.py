"""The processes that make generations: the batch layer from the lake, and without one a merge of closed epochs."""

from __future__ import annotations

from tarnbeck.cut import Cut
from tarnbeck.store import rules
from tarnbeck.store.protocol import LeaseLost, Published, Refused
from tarnbeck.store.state import VersionState
from tests.simulator import choices
from tests.simulator.actors import Actor
from tests.simulator.log import Event
from tests.simulator.world import LAYOUT, World, partial


def batch(world: World, version_id: int, full: bool, leaps: bool, faulty: bool = False) -> Actor:
    """Roll, wait for the lake, compute below the cut, publish; a faulty one loses an event on the way."""
    rolled = world.store.roll(version_id)
    yield
    if rolled is None:
        return
    for leap in (True, False):
        lake = world.lake_cut()
        cut = lake if leap else choices.with_history(rolled, lake)
        if leap and not (choices.may_leap(world.log, rolled, leaps) and lake.covers(rolled) and lake.log != rolled.log):
            continue
        while not world.lake_cut().covers(cut):
            yield
        version = world.store.versions().get(version_id)
        if version is None:
            return
        base = None if full else version.generation
        yield
        events = world.events.read(base.cut if base else version.origin, cut)
        build = Build(world, version, cut, base.id if base else None, events[1:] if faulty else events)
        build.faulty = faulty and bool(events)
        yield from build.run(leap)
        if build.refused != "leap" or not choices.falls_back():
            return


def rebuild(world: World, version_id: int) -> Actor:
    """Fills a version that can't answer yet, step by step from the lake; a successor goes on from what was saved."""
    rolled = world.store.roll(version_id)
    version = world.store.versions().get(version_id)
    if rolled is None or version is None or rules.answerable(version):
        return
    yield
    target = choices.with_history(rolled, world.lake_cut())
    replay = world.store.replay_generation(version_id, LAYOUT, target)
    if isinstance(replay, Refused):
        return
    world.happened[f"replay {'resumed' if replay.done != version.origin else 'begun'}"] += 1
    try:
        while not world.lake_cut().covers(replay.cut):
            yield
        for end in replay.done.span_to(replay.cut).steps(3):
            replay.write(partial(world.events.read(replay.done, end), version.definition))
            yield
            replay.save(end)
            yield
        replay.seal()
        yield
        outcome = world.store.publish(replay, leap=False)
        world.happened[f"replay {outcome.reason if isinstance(outcome, Refused) else 'published'}"] += 1
    except LeaseLost:
        world.happened["replay lost"] += 1
    finally:
        replay.pause()


def merge(world: World, version_id: int) -> Actor:
    """Without a batch layer, closed epochs become a generation."""
    if world.store.roll(version_id) is None:
        return
    yield
    version = world.store.versions().get(version_id)
    if version is None:
        return
    with world.store.snapshot([version.view], {version.view: version_id}) as moment:
        version = moment.versions[version.view]
        closed, left = [epoch for epoch in version.epochs if not epoch.open], rules.open_epoch(version)
        if left is None or not rules.answerable(version):
            return
        parts = moment.parts(version.view)[1 if version.generation else 0 :]
        events = [(int(row[0] or 0), int(row[1] or 0)) for part in parts[: len(closed)] for row in part]
    yield
    base = version.generation.id if version.generation else None
    cut = choices.with_history(left.start, world.lake_cut())
    if not closed and cut == left.start:
        return
    events += world.events.read(left.start, cut)
    yield from Build(world, version, cut, base, events).run(leap=False)


class Build:
    """One generation on its way; `refused` says why it was not published."""

    def __init__(self, world: World, version: VersionState, cut: Cut, base: int | None, events: list[Event]) -> None:
        self.world, self.version, self.cut, self.base, self.events = world, version, cut, base, events
        self.refused: str | None = None
        self.faulty = False

    def run(self, leap: bool) -> Actor:
        world = self.world
        building = world.store.begin_generation(self.version.id, LAYOUT, self.cut, self.base)
        if isinstance(building, Refused):
            self._end(building)
            return
        yield
        try:
            building.write(partial(self.events, self.version.definition))
            yield
            building.seal()
        except LeaseLost:
            self._end(Refused("removed"))
            return
        yield
        self._note_fault(building.id)
        before = world.store.versions().get(self.version.id)
        outcome = world.store.publish(building, leap)
        if isinstance(outcome, Published) and before is not None and before.generation is not None:
            self._note_repair(before.generation.id, building.id)
        self._end(outcome)

    def _note_fault(self, generation: int) -> None:
        faults = self.world.faults
        if self.base in faults:
            faults[generation] = faults[self.base]
        elif self.faulty:
            faults[generation] = generation

    def _note_repair(self, before: int, after: int) -> None:
        fault = self.world.faults.get(before)
        if fault is not None and self.world.faults.get(after) != fault:
            self.world.repaired.add((self.version.id, fault))

    def _end(self, outcome: Published | Refused) -> None:
        self.refused = outcome.reason if isinstance(outcome, Refused) else None
        self.world.happened[f"publish {self.refused or 'done'}"] += 1
