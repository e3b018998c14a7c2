"""The end of every history: nobody crashes any more, and the system must reach the end of the log and answer."""

from __future__ import annotations

from collections.abc import Callable

from tarnbeck.store import rules
from tarnbeck.store.generation import LEASE_US
from tarnbeck.store.state import Feeder, VersionState
from tests.simulator import choices
from tests.simulator.actors import Actor, lake, loader, replay, speed
from tests.simulator.builders import batch, merge, rebuild
from tests.simulator.log import EVENT
from tests.simulator.operations import Cast, create, deploy
from tests.simulator.world import Violation, World

ROUNDS, EARLIEST, NO_NEW_JOBS = 160, 24, 120


def settle(world: World, cast: Cast) -> None:
    """Let everyone who is still there go on, beside a lake writer, a loader, two speed writers and a job each."""
    world.read_all()
    world.quiet = True
    world.log.commit_pending()
    left: list[Actor | None] = [*(actor for _, actor in cast.actors), loader(world)]
    supervised: list[Actor | None] = [lake(world), speed(world), speed(world)]
    jobs: dict[int, Actor | None] = {}
    rounds = 0
    for rounds in range(ROUNDS):
        _turn(left)
        _turn(supervised, lambda: speed(world) if choices.fenced_restarts() else None)
        _work(world, jobs, rounds)
        if rounds % 16 == 0:
            world.read_all()
        if rounds >= EARLIEST and rounds % 8 == 0 and world.settled():
            break
    world.read_all()
    if not world.settled():
        states = [(v.view, str(v.cut), v.feeder.value) for v in world.store.versions().values()]
        raise Violation(f"stuck: log {world.log.end()}, lake {world.lake_cut()}, versions {states}, {rounds} rounds")
    world.check_settled()
    _one_writer(world, [actor for actor in supervised[1:] if actor is not None])


def _turn(actors: list[Actor | None], successor: Callable[[], Actor | None] = lambda: None) -> None:
    for place, actor in enumerate(actors):
        if actor is not None and _ended(actor):
            actors[place] = following = successor()
            if following is not None:
                next(following)


_END = object()


def _ended(actor: Actor) -> bool:
    return next(actor, _END) is _END


def _work(world: World, jobs: dict[int, Actor | None], rounds: int) -> None:
    for version in world.store.versions().values():
        job = jobs.get(version.id)
        if job is None and rounds < NO_NEW_JOBS:
            job = _job(world, version, rounds)
        jobs[version.id] = None if job is None or _ended(job) else job


def _job(world: World, version: VersionState, rounds: int) -> Actor:
    if version.feeder is Feeder.REPLAY:
        return replay(world, version.id)
    if world.kappa:
        return merge(world, version.id)
    if not rules.answerable(version) and rounds % 3:
        return rebuild(world, version.id)
    return batch(world, version.id, full=bool(rounds % 2), leaps=False)


def _one_writer(world: World, writers: list[Actor]) -> None:
    """With something new to commit, a writer that was taken over notices and ends."""
    if not world.store.fed():
        return
    world.log.records[0].append(EVENT)
    alive = list(writers)
    for _ in range(12):
        alive = [writer for writer in alive if not _ended(writer)]
    if len(alive) > 1:
        raise Violation(f"doubled: {len(alive)} speed writers go on for ever")


def loaded(world: World) -> None:
    """Steady load, the lake just ahead of speed, every batch wants to leap: some batch must be published."""
    world.quiet = True
    create(world, Cast(), 0, 0)
    version = world.store.aliases()["a"]
    layers, job = [lake(world), speed(world)], None
    for _ in range(200):
        world.log.records[0].append(EVENT)
        for layer in layers:
            for _ in range(8):
                next(layer)
        world.store.collect()
        job = job or batch(world, version, full=False, leaps=True)
        if _ended(job):
            job = None
    if world.store.versions()[version].generation is None:
        raise Violation("starved: no generation after 200 rounds of load")


def interrupted(world: World) -> None:
    """A replay whose builder is killed again and again, each time long before the next one comes: it must still end."""
    world.quiet = True
    create(world, Cast(), 0, 0)
    world.log.records[0] += [EVENT] * 30
    layers = [lake(world), speed(world)]
    for _ in range(8):
        for layer in layers:
            next(layer)
    deploy(world, Cast(), 0, 0)
    (version,) = world.store.versions().keys() - set(world.store.aliases().values())
    for _ in range(30):
        builder = rebuild(world, version)
        for _ in range(5):
            if _ended(builder):
                break
        del builder
        world.clock[0] += LEASE_US + 1
        world.store.collect()
    if not rules.answerable(world.store.versions()[version]):
        raise Violation("starved: a replay did not end in 30 attempts")
