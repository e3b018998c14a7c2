"""What can happen in a history: one function per operation, each driven by two random numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tarnbeck.store.generation import LEASE_US
from tarnbeck.store.state import VersionState
from tests.simulator import choices
from tests.simulator.actors import Actor, lake, loader, reader, replay, rollback, speed, switch
from tests.simulator.builders import batch, merge, rebuild
from tests.simulator.world import LAYOUT, STREAM, World

VIEWS = ("a", "b")
KINDS = ("lake", "speed", "batch", "batch", "reader", "switch", "replay", "rollback", "rebuild", "rebuild", "loader")
MOST_OF_A_KIND = 3


@dataclass
class Cast:
    """The actors that live, oldest first, each with its kind."""

    actors: list[tuple[str, Actor]] = field(default_factory=list)


def send(world: World, cast: Cast, a: int, b: int) -> None:
    world.log.send(a % len(world.log.records), b)


def spawn(world: World, cast: Cast, a: int, b: int) -> None:
    kind = KINDS[a % len(KINDS)]
    if sum(found == kind for found, _ in cast.actors) < MOST_OF_A_KIND:
        actor = _actor(world, kind, b)
        if actor is not None:
            cast.actors.append((kind, actor))


def _actor(world: World, kind: str, b: int) -> Actor | None:
    single: dict[str, Callable[[World], Actor]] = {
        "lake": lake,
        "loader": loader,
        "speed": speed,
        "reader": reader,
        "switch": switch,
        "rollback": rollback,
    }
    if kind in single:
        return single[kind](world)
    versions = list(world.store.versions())
    if not versions:
        return None
    version = versions[b % len(versions)]
    if kind == "replay":
        return replay(world, version)
    if kind == "rebuild":
        return rebuild(world, version)
    if world.kappa != (b % 11 == 0):
        return merge(world, version)
    return batch(world, version, full=b % 3 == 0, leaps=b % 5 < 2, faulty=world.faulty and b % 4 == 0)


def step(world: World, cast: Cast, a: int, b: int) -> None:
    if not cast.actors:
        return
    place = a % len(cast.actors)
    for _ in range(b % 6 + 1):
        if next(cast.actors[place][1], STOPPED) is STOPPED:
            cast.actors.pop(place)
            return


STOPPED = object()


def crash(world: World, cast: Cast, a: int, b: int) -> None:
    if cast.actors:
        cast.actors.pop(a % len(cast.actors))


def read(world: World, cast: Cast, a: int, b: int) -> None:
    world.read_all()


def retain(world: World, cast: Cast, a: int, b: int) -> None:
    world.log.retain(a % len(world.log.records), world.lake_cut(), b % 3)


def history(world: World, cast: Cast, a: int, b: int) -> None:
    """Files with older events are added to those that there are."""
    world.history += b % 5 + 1


def add_partition(world: World, cast: Cast, a: int, b: int) -> None:
    if len(world.log.records) < 3:
        world.log.add_partition()


def create(world: World, cast: Cast, a: int, b: int) -> None:
    name = VIEWS[a % 2]
    if name not in world.store.aliases():
        world.births += 1
        world.incarnations[name] = world.births
        added = _add_version(world, name, str(b % 2), world.kappa)
        world.deploys[added.id] = (world.births, 1)


def _add_version(world: World, name: str, definition: str, replayed: bool) -> VersionState:
    return world.store.add_view(name, STREAM, definition, definition, LAYOUT, choices.feeder(replayed))


def drop_view(world: World, cast: Cast, a: int, b: int) -> None:
    if VIEWS[a % 2] in world.store.aliases():
        world.store.drop_view(VIEWS[a % 2])


def deploy(world: World, cast: Cast, a: int, b: int) -> None:
    """Give every view a second version with the other definition."""
    versions, aliases = world.store.versions(), world.store.aliases()
    if len(versions) != len(aliases):
        return
    world.births += 2
    old, new = (world.births - 1, len(aliases)), (world.births, len(aliases))
    for name, live in aliases.items():
        world.deploys[live] = old
        other = "1" if versions[live].definition == "0" else "0"
        world.deploys[_add_version(world, name, other, world.kappa or bool(a % 2)).id] = new


def drop_versions(world: World, cast: Cast, a: int, b: int) -> None:
    """Drop the whole deploy that does not answer; now and then one that does is asked for, too, and must stay."""
    live = set(world.store.aliases().values())
    for version in world.store.versions():
        if version not in live or b % 8 == 0:
            world.drop(version)


def optimize(world: World, cast: Cast, a: int, b: int) -> None:
    world.events.optimize()
    world.quarantine.optimize()


def lose_checkpoint(world: World, cast: Cast, a: int, b: int) -> None:
    world.checkpoint = (None, None)


def register(world: World, cast: Cast, a: int, b: int) -> None:
    """The application starts again and offers where the log begins now."""
    world.register(world.log.beginning())


def collect(world: World, cast: Cast, a: int, b: int) -> None:
    """The garbage collection, half of the time long after everyone's lease ran out."""
    world.clock[0] += LEASE_US + 1 if b % 2 else 1
    world.store.collect()


Operation = Callable[[World, Cast, int, int], None]
OPERATIONS: dict[str, tuple[Operation, int]] = {
    "send": (send, 16),
    "spawn": (spawn, 16),
    "step": (step, 40),
    "crash": (crash, 3),
    "read": (read, 5),
    "retain": (retain, 3),
    "history": (history, 2),
    "add_partition": (add_partition, 1),
    "create": (create, 3),
    "drop_view": (drop_view, 1),
    "deploy": (deploy, 2),
    "drop_versions": (drop_versions, 1),
    "optimize": (optimize, 1),
    "lose_checkpoint": (lose_checkpoint, 1),
    "register": (register, 1),
    "collect": (collect, 3),
}
"""Each operation and how often it comes."""
