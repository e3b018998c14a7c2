"""Flink as a process that stays warm from round to round, and the SQL that it is asked to run."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tarnbeck.errors import SetupError
from tarnbeck.log.settings import LogSettings
from tarnbeck.spark.jars import fetched, find_java

HERE = Path(__file__).parent
PYTHON = HERE.parents[1] / ".flink" / "bin" / "python"

TUNED = {
    # As many slots as the machine has cores, and a row that an operator gives on is not copied.
    "parallelism.default": "2",
    "taskmanager.numberOfTaskSlots": "2",
    "pipeline.object-reuse": "true",
    # Grouped before the shuffle and after it, in memory that is large enough never to spill.
    "table.optimizer.agg-phase-strategy": "TWO_PHASE",
    "table.optimizer.distinct-agg.split.enabled": "true",
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "1 s",
    "table.exec.mini-batch.size": "50000",
    "taskmanager.memory.managed.size": "1g",
    "taskmanager.memory.network.min": "128m",
    "table.local-time-zone": "UTC",
}
"""What favours Flink; there are no checkpoints either, and its rows go nowhere (`blackhole`)."""

READ = {
    "scan.startup.mode": "earliest-offset",
    "scan.bounded.mode": "latest-offset",
    "properties.max.poll.records": "5000",
    "properties.max.partition.fetch.bytes": "16777216",
    "properties.fetch.max.bytes": "67108864",
    "format": "json",
    "json.timestamp-format.standard": "ISO-8601",
}
"""The topic up to its end as it is now, with the same sizes of fetching as Spark."""


COLUMNS = "`time` TIMESTAMP_LTZ(3), `key` STRING, `value` DOUBLE, seq BIGINT, side STRING"
"""The events of the topic that most figures read."""


@dataclass(frozen=True)
class Query:
    """SQL over the table `events`: its columns, and the rows of a window that go to the table `windows`."""

    columns: str
    select: str
    result: str


class Flink:
    """A running process; one question after the other."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process, self._log = process, log

    def seconds(self, kafka: LogSettings, topic: str, query: Query) -> float:
        """What the query takes over all of the topic, without the start of the cluster that it runs on."""
        events = {"connector": "kafka", "topic": topic, **_client(kafka), **READ}
        statements = [
            # Times rise within a partition, so the watermark can be close behind them.
            f"CREATE TABLE events ({query.columns}, WATERMARK FOR `time` AS `time` - INTERVAL '1' SECOND) "
            f"WITH ({_options(events)})",
            f"CREATE TABLE windows ({query.result}) WITH ('connector' = 'blackhole')",
            f"INSERT INTO windows {query.select}",
        ]
        stdin, stdout = _pipes(self._process)
        stdin.write(json.dumps({"settings": TUNED, "statements": statements}) + "\n")
        stdin.flush()
        answer = stdout.readline()
        if not answer:
            raise RuntimeError(f"bench: Flink ended\n  its last words:\n{self._log.read_text()[-4000:]}")
        return float(json.loads(answer)["seconds"])


@contextmanager
def flink(folder: Path) -> Iterator[Flink]:
    """Flink in its own environment, which `make bench` makes, with the Kafka connector."""
    if not PYTHON.exists():
        raise SetupError(f"bench: no Flink at {PYTHON}\n  it is installed by: make bench")
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "flink.log"
    where = {
        # Flink looks for java by JAVA_HOME alone, or on PATH.
        "JAVA_HOME": str(find_java().resolve().parents[1]),
        # Unless told its home, Flink would not take the folder of its jars as it is told.
        "FLINK_HOME": str(_home()),
        "FLINK_LIB_DIR": str(_library(folder / "lib")),
        "FLINK_LOG_DIR": str(folder),
        # Without functions in Python nothing is needed of what runs them, which is then not even imported.
        "_python_worker_execution_mode": "process",
    }
    command = [str(PYTHON), str(HERE / "program.py")]
    with (
        log.open("w") as errors,
        subprocess.Popen(
            command,
            env=os.environ | where,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        try:
            yield Flink(process, log)
        finally:
            # Without a next request it ends by itself, and its Java machine with it.
            _pipes(process)[0].close()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.terminate()


def _home() -> Path:
    (found,) = PYTHON.parents[1].glob("lib/python*/site-packages/pyflink")
    return found


def _library(folder: Path) -> Path:
    """Flink's own jars and the connector in one folder: a jar that is handed to each job would never get warm."""
    folder.mkdir(exist_ok=True)
    for jar in [*_home().glob("lib/*.jar"), *fetched((HERE / "ivy.xml").read_bytes(), ["flink"]).glob("flink/*.jar")]:
        if not (folder / jar.name).exists():
            (folder / jar.name).symlink_to(jar)
    return folder


def _pipes(process: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    assert process.stdin is not None, "started with pipes"
    assert process.stdout is not None, "started with pipes"
    return process.stdin, process.stdout


def _client(kafka: LogSettings) -> dict[str, str]:
    return {f"properties.{name.removeprefix('kafka.')}": value for name, value in kafka.spark_options().items()}


def _options(options: Mapping[str, str]) -> str:
    return ", ".join(f"'{name}' = '{value}'" for name, value in options.items())
