"""Random histories: how one is made from a seed, played, and shrunk when it violates something."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tests.simulator.operations import KINDS, OPERATIONS, Cast
from tests.simulator.settling import settle
from tests.simulator.world import Violation, World

ALWAYS = ("send", "spawn", "step")
_MEMORY = Path("/dev/shm")  # noqa: S108


@dataclass(frozen=True)
class Operation:
    """One thing that happens, with the two numbers that decide its details."""

    name: str
    a: int
    b: int

    def __str__(self) -> str:
        return f"{self.name}({self.a},{self.b})"


@dataclass(frozen=True)
class History:
    """A schedule: with or without a batch layer, with faulty batches or not, and where the log begins."""

    kappa: bool
    faulty: bool
    first: int
    operations: tuple[Operation, ...]

    def __str__(self) -> str:
        kind = ("kappa" if self.kappa else "lambda") + (", faulty batches" if self.faulty else "")
        return f"{kind}, log from {self.first}: {' '.join(map(str, self.operations))}"


def history_of(seed: int) -> History:
    """Swarm testing: every history has its own mix of operations and actors."""
    return _history(random.Random(seed))


def crowded(seed: int) -> History:
    """Many batches of few views at a time, some of them faulty: what takes two batches that overlap."""
    rng = random.Random(seed)
    history = _history(rng)
    batches = KINDS.index("batch")
    operations = tuple(
        replace(operation, a=batches) if operation.name == "spawn" and rng.random() < 0.5 else operation
        for operation in history.operations
        if operation.name not in ("deploy", "drop_view")
    )
    return replace(history, kappa=False, faulty=True, operations=operations)


def replayed(seed: int) -> History:
    """A view that lives, another version of it, and replays of that one whose builders die and others follow."""
    rng = random.Random(seed)
    history = _history(rng)
    lake, speed, rebuild = (KINDS.index(kind) for kind in ("lake", "speed", "rebuild"))
    layers = [Operation("spawn", lake, 0), Operation("spawn", speed, 0)]
    sent = [Operation("send", rng.randrange(2), rng.randrange(3)) for _ in range(12)]
    turns = [Operation("step", place % 2, 5) for place in range(24)]
    builders = [
        Operation(*rng.choice((("spawn", rebuild, 1), ("step", rng.randrange(99), 3), ("crash", rng.randrange(99), 0))))
        for _ in range(24)
    ]
    first = [Operation("create", 0, 0), *sent, *layers, *turns, Operation("deploy", 0, 0), *builders]
    return replace(history, kappa=False, faulty=False, operations=(*first, *history.operations))


def _history(rng: random.Random) -> History:
    weights = [
        weight if name in ALWAYS else weight * rng.choice((0, 1, 1, 3)) for name, (_, weight) in OPERATIONS.items()
    ]
    kinds = [*rng.choices(range(len(KINDS)), k=5), 0, 1, 2]
    names = rng.choices(list(OPERATIONS), weights, k=rng.choice((30, 60, 120, 240)))
    operations = [
        Operation(name, rng.choice(kinds) if name == "spawn" else rng.randrange(10_000), rng.randrange(10_000))
        for name in names
    ]
    views = [
        Operation("create", place, rng.randrange(9)) for place, odds in enumerate((0.9, 0.3)) if rng.random() < odds
    ]
    kappa = rng.random() < 0.35
    return History(kappa, not kappa and rng.random() < 0.15, rng.choice((0, 0, 2)), (*views, *operations))


def play(history: History, finish: Callable[[World, Cast], None] = settle) -> tuple[Violation | None, Counter[str]]:
    """Play a history to its end; what it violated, and what happened in it."""
    folder = Path(tempfile.mkdtemp(dir=_MEMORY if _MEMORY.is_dir() else None))
    world = World.made(folder, history.kappa, history.first)
    world.faulty = history.faulty
    cast = Cast()
    try:
        for operation in history.operations:
            OPERATIONS[operation.name][0](world, cast, operation.a, operation.b)
        finish(world, cast)
    except Violation as violation:
        return violation, world.happened
    finally:
        cast.actors.clear()
        world.store.close()
        shutil.rmtree(folder)
    return None, world.happened


def shrink(history: History, kind: str) -> History:
    """The shortest history found that still violates in the same way, by leaving out ever smaller pieces."""

    def same(candidate: History) -> bool:
        found, _ = play(candidate)
        return found is not None and found.kind == kind

    for simpler in (replace(history, first=0), replace(history, faulty=False)):
        if simpler != history and same(simpler):
            history = simpler
    size = max(1, len(history.operations) // 2)
    while True:
        place, shorter = 0, False
        while place < len(history.operations):
            kept = history.operations[:place] + history.operations[place + size :]
            if same(replace(history, operations=kept)):
                history, shorter = replace(history, operations=kept), True
            else:
                place += size
        if size == 1 and not shorter:
            return history
        size = max(1, size // 2)
