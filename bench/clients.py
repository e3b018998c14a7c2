"""Clients of a server in processes of their own; they import little, because every one of them is started anew."""

from __future__ import annotations

import http.client
import itertools
import multiprocessing
import random
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier

SETTLING = 1.0
PATIENCE = 60.0


@dataclass(frozen=True)
class Load:
    """What each client asks for, one path after another on one connection, and for how many seconds."""

    address: str
    paths: tuple[str, ...]
    seconds: float


def load(asked: Load, clients: int) -> list[float]:
    """The milliseconds of each request of all clients, which start together."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(clients)
    pipes = [context.Pipe(duplex=False) for _ in range(clients)]
    processes = [
        context.Process(target=_ask, args=(asked, number, barrier, theirs)) for number, (_, theirs) in enumerate(pipes)
    ]
    for process in processes:
        process.start()
    found: list[float] = []
    for (mine, _), process in zip(pipes, processes, strict=True):
        if not mine.poll(asked.seconds + SETTLING + PATIENCE):
            raise TimeoutError(f"bench: a client of {asked.paths[0]} did not come back")
        found += mine.recv()
        process.join()
    return found


def _ask(asked: Load, number: int, barrier: Barrier, told: Connection) -> None:
    # Each client goes its own way through the paths.
    paths = random.Random(number).sample(asked.paths, len(asked.paths))
    connection = http.client.HTTPConnection(asked.address, timeout=PATIENCE)
    barrier.wait(PATIENCE)
    counts_from = time.perf_counter() + SETTLING
    until, taken = counts_from + asked.seconds, list[float]()
    for path in itertools.cycle(paths):
        began = time.perf_counter()
        if began >= until:
            break
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
        ended = time.perf_counter()
        if response.status != 200:
            raise ConnectionError(f"bench: {path}: status {response.status}")
        if began >= counts_from:
            taken.append((ended - began) * 1000)
    connection.close()
    told.send(taken)
