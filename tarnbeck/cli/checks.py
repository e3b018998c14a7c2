"""What `tarnbeck doctor` looks at: one function and one registry row for each check."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, get_args

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from tarnbeck.cli import show
from tarnbeck.errors import TarnbeckError
from tarnbeck.node.running import running
from tarnbeck.node.settings import HOST, PORT
from tarnbeck.spark import archive, jars

State = Literal["well", "note", "problem"]
WELL: State = "well"
NOTE: State = "note"
PROBLEM: State = "problem"

DISK = 2 << 30
"""Bytes that an app should find free: Kafka and the lake keep every event."""
MEMORY = 3 << 30
"""Bytes that an app should find available: with little data, two Spark processes, broker and node took 2.2 GiB."""
REINSTALL = "install it anew: python -m pip install --force-reinstall tarnbeck"


@dataclass(frozen=True)
class Finding:
    """What a check found, and what to do about it."""

    state: State
    found: str
    fix: str = ""


def free(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def available() -> int:
    """Bytes of memory that programs can still have; all of it where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except FileNotFoundError:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))


@dataclass(frozen=True)
class Place:
    """A folder on a machine; what the machine says of itself can be put in, to see what a check says of that."""

    folder: Path
    port: int | None = None
    disk: Callable[[Path], int] = free
    memory: Callable[[], int] = available
    installed: Callable[[str], str] = metadata.version


def examine(place: Place) -> Iterator[tuple[str, Finding]]:
    """Every check with what it found; one that can't even look has found a problem."""
    for name, check in CHECKS.items():
        try:
            yield name, check(place)
        except TarnbeckError as error:
            first, *others = str(error).splitlines()
            yield name, Finding(PROBLEM, first, "; ".join(line.strip() for line in others))
        except ImportError as error:
            yield name, Finding(PROBLEM, str(error), REINSTALL)


def python(place: Place) -> Finding:
    needed = SpecifierSet(metadata.metadata("tarnbeck")["Requires-Python"])
    found = f"Python {platform.python_version()}"
    if platform.python_version() in needed:
        return Finding(WELL, found)
    return Finding(
        PROBLEM, f"{found}, expected {needed}", "make an environment with a newer one: python3.11 -m venv .venv"
    )


def java(place: Place) -> Finding:
    path = jars.find_java()
    return Finding(WELL, f"Java {jars.java_version(path)} at {path}")


def packages(place: Place) -> Finding:
    """Spark, Delta and the connectors fit each other by version only: what is installed must be what is asked for."""
    needed = [Requirement(text) for text in metadata.requires("tarnbeck") or ()]
    wrong, told = [], []
    for each in needed:
        if each.marker is not None and not each.marker.evaluate({"extra": ""}):
            continue
        try:
            version = place.installed(each.name)
        except metadata.PackageNotFoundError:
            version = "missing"
        if version == "missing" or version not in each.specifier:
            wrong.append(f"'{each.name}{each.specifier}'")
            told.append(f"{each.name} is {version}, expected {each.specifier}")
    if wrong:
        return Finding(PROBLEM, "; ".join(told), f"python -m pip install {' '.join(wrong)}")
    spark, found = place.installed("pyspark"), {jar.name: jar.version for jar in jars.listed()}
    delta = f"delta-spark_{'.'.join(spark.split('.')[:2])}_2.13"
    if delta not in found or found["spark-sql-kafka-0-10_2.13"] != spark:
        return Finding(PROBLEM, f"PySpark {spark} does not belong to the jars of this tarnbeck", REINSTALL)
    others = ", ".join(f"{name} {place.installed(name)}" for name in ("confluent-kafka", "duckdb", "pyarrow"))
    return Finding(WELL, f"PySpark {spark}, Delta {found[delta]}, Kafka {found['kafka_2.13']}, {others}")


def cached(place: Place) -> Finding:
    missing, listed = jars.missing(), jars.listed()
    if not missing:
        return Finding(WELL, f"in {jars.cache()}")
    fetch = "python -m tarnbeck.spark.jars"
    if len(missing) == len(listed):
        return Finding(PROBLEM, f"no jars in {jars.cache()}", f"fetch them, which `up` does as well: {fetch}")
    folder = missing[0].parents[1]
    gone = ", ".join(path.name for path in missing)
    return Finding(PROBLEM, f"{gone} is not in {folder}", f"rm -r {shlex.quote(str(folder))} && {fetch}")


def classes(place: Place) -> Finding:
    make = "python -m tarnbeck.node.rehearse"
    if jars.missing():
        return Finding(NOTE, "not archived: the jars come first", make)
    found = [archive.place(conf) for conf in get_args(jars.Conf)]
    if all(path.is_file() for path in found):
        return Finding(WELL, f"archived in {found[0].parent}")
    return Finding(NOTE, "not archived: each start takes some seconds longer", f"a minute, once: {make}")


def port(place: Place) -> Finding:
    wanted, node = place.port or PORT, running(place.folder)
    if node is not None and str(node["url"]).endswith(f":{wanted}"):
        return Finding(WELL, f"{wanted} is that of the app in this folder")
    try:
        with socket.create_server((HOST, wanted)):
            return Finding(WELL, f"{wanted} is free")
    except OSError as error:
        why = f"{wanted} can't be had: {os.strerror(error.errno or 0)}"
    if place.port is None:
        return Finding(NOTE, why, "`up` takes a free one by itself; or name one: tarnbeck up --port N")
    return Finding(PROBLEM, why, "name another one: tarnbeck up --port N")


def disk(place: Place) -> Finding:
    where = next(path for path in (place.folder, *place.folder.parents) if path.exists())
    if not os.access(where, os.W_OK):
        return Finding(PROBLEM, f"{where} can't be written to", "choose another folder: tarnbeck up --folder FOLDER")
    left = place.disk(where)
    found = f"{show.size(left)} free at {where}"
    if left >= DISK:
        return Finding(WELL, found)
    fix = f"make room for {show.size(DISK)}, or choose a folder on another disk: tarnbeck up --folder FOLDER"
    return Finding(PROBLEM, found, fix)


def memory(place: Place) -> Finding:
    left = place.memory()
    found = f"{show.size(left)} available"
    if left >= MEMORY:
        return Finding(WELL, found)
    if running(place.folder) is not None:
        return Finding(WELL, f"{found}, while the app runs")
    return Finding(PROBLEM, f"{found}, an app takes about {show.size(MEMORY)}", "end other programs: see top -o %MEM")


def node(place: Place) -> Finding:
    facts = running(place.folder)
    if facts is None:
        if (place.folder / "node.json").exists():
            told = "the app that ran here was killed; its next start goes on where it was"
            return Finding(NOTE, told, "tarnbeck up")
        return Finding(WELL, f"no app runs in {place.folder}")
    return healthy(facts, place.folder)


def healthy(facts: dict[str, Any], folder: Path) -> Finding:
    """What the node says of its parts, if it answers."""
    from tarnbeck.serve.client import control

    named = f"app '{facts['app']}' at {facts['url']}"
    try:
        parts = control(facts["url"], facts["token"]).status()["parts"]
    except TarnbeckError:
        told = f"{named}: process {facts['pid']} runs and does not answer"
        return Finding(PROBLEM, told, f"see {folder / 'logs'}; then tarnbeck down, and tarnbeck up")
    ill = [part for part in parts if part["state"] not in ("running", "done")]
    if not ill:
        return Finding(WELL, f"{named}: every part runs")
    told = "; ".join(f"{part['part']} {part['state']}: {(part['error'] or '').partition(chr(10))[0]}" for part in ill)
    return Finding(PROBLEM, f"{named}: {told}", f"tarnbeck status; then see {folder / 'logs'}")


def broker(place: Place) -> Finding:
    from tarnbeck.log.broker import find

    found = find(place.folder)
    if found is None:
        return Finding(WELL, "none runs here")
    told = f"at {found.address}, process {found.pid}"
    if running(place.folder) is not None:
        return Finding(WELL, told)
    return Finding(PROBLEM, f"{told}: left behind by an app that was killed", "tarnbeck down")


CHECKS: dict[str, Callable[[Place], Finding]] = {
    "python": python,
    "java": java,
    "packages": packages,
    "jars": cached,
    "classes": classes,
    "port": port,
    "disk": disk,
    "memory": memory,
    "app": node,
    "broker": broker,
}
