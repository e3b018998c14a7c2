"""Clients of a server in processes of their own; they import little, because every one of them is started anew."""

from __future__ import annotations

import http.client
import multiprocessing
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier

SETTLING = 1.0
PATIENCE = 60.0


@dataclass(frozen=True)
class Load:
    """What each client asks for, one request after another on one connection, and for how many seconds."""

    address: str
    path: str
    seconds: float


def load(asked: Load, clients: int) -> list[float]:
    """The milliseconds of each request of all clients, which start together."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(clients)
    pipes = [context.Pipe(duplex=False) for _ in range(clients)]
    processes = [context.Process(target=_ask, args=(asked, barrier, theirs)) for _, theirs in pipes]
    for process in processes:
        process.start()
    found: list[float] = []
    for (mine, _), process in zip(pipes, processes, strict=True):
        if not mine.poll(asked.seconds + SETTLING + PATIENCE):
            raise TimeoutError(f"bench: a client of {asked.path} did not come back")
        found += mine.recv()
        process.join()
    return found


def _ask(asked: Load, barrier: Barrier, told: Connection) -> None:
    connection = http.client.HTTPConnection(asked.address, timeout=PATIENCE)
    barrier.wait(PATIENCE)
    counts_from = time.perf_counter() + SETTLING
    until, taken = counts_from + asked.seconds, list[float]()
    while (began := time.perf_counter()) < until:
        connection.request("GET", asked.path)
        response = connection.getresponse()
        response.read()
        ended = time.perf_counter()
        if response.status != 200:
            raise ConnectionError(f"bench: {asked.path}: status {response.status}")
        if began >= counts_from:
            taken.append((ended - began) * 1000)
    connection.close()
    told.send(taken)
