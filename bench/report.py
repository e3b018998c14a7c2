"""The figures of one run as text: what was measured, on what, against what, and whether the target was met."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from bench.figure import Figure
from tarnbeck.spark.jars import find_java, jars

PACKAGES = ("pyspark", "pyarrow", "datasketches", "duckdb", "confluent-kafka", "starlette", "uvicorn")
JARS = ("delta-spark", "spark-sql-kafka", "kafka-clients")


def table(figures: Sequence[Figure]) -> str:
    """The figures as a table."""
    lines = ["| figure | tarnbeck | peer | ratio | target | |", "|---|---|---|---|---|---|"]
    for each in figures:
        verdict = "met" if each.met else "**missed**"
        row = (f"{each.name}: {each.what}", each.ours, each.peer, f"{each.ratio:.2f}x", str(each.target), verdict)
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def report(figures: Sequence[Figure], events: int, repeats: int) -> str:
    """The whole of RESULTS.md."""
    parts = [
        "# Results",
        f"`make bench`, best of {repeats}, both sides in turn in one run: {events:,} JSON events of about 100 bytes, "
        "2 partitions, 1,000 keys, broker on the same machine. A ratio is tarnbeck's figure divided by the peer's.",
        table(figures),
        details(figures),
        "## Measured on",
        "\n".join(f"- {fact}" for fact in facts()),
    ]
    return "\n\n".join(parts) + "\n"


def details(figures: Sequence[Figure]) -> str:
    """What is to be said of figures beside their numbers, if anything is."""
    return "\n\n".join(_details(figure) for figure in figures if figure.notes or figure.profile)


def _details(figure: Figure) -> str:
    lines = [f"## {figure.name}", ""]
    lines += [f"- {note}" for note in figure.notes]
    if figure.profile:
        lines += ["- where the time goes:", *(f"  - {step}" for step in figure.profile)]
    return "\n".join(lines)


def facts() -> list[str]:
    """The machine and the versions."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    java = subprocess.run([find_java(), "-version"], capture_output=True, text=True, check=True).stderr.splitlines()[0]
    found = {jar.stem for jar in (*jars("spark"), *jars("broker"))}
    return [
        f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}, {_processor()}, {os.cpu_count()} cores, {memory:.0f} GB",
        f"{platform.system()} {platform.release()}, Python {platform.python_version()}, {java}",
        ", ".join(f"{package} {version(package)}" for package in PACKAGES),
        ", ".join([*sorted(jar for jar in found if jar.startswith(JARS)), *_flink()]),
    ]


def _flink() -> list[str]:
    """What `make bench` installs of Flink, as it is pinned."""
    pinned = (Path(__file__).parent / "flink" / "requirements.txt").read_text().splitlines()
    return [line.split(" ")[0].replace("==", " ") for line in pinned if line.startswith("apache-flink==")]


def _processor() -> str:
    """The name that the kernel has for the processor."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
