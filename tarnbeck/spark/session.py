"""A Spark session set up for tarnbeck: its jars, UTC, Delta, quiet, with its own log file."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tarnbeck.spark import archive
from tarnbeck.spark.jars import jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Small Delta commits are six times faster with a snapshot of one partition and without commit statistics.
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.databricks.delta.commitStats.collect": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.driver.maxResultSize": "0",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.streaming.metricsEnabled": "false",
    # An idle query asks Kafka for new offsets this often; the default of 10 ms burns a third of a core.
    "spark.sql.streaming.pollingDelay": "50ms",
    "spark.sql.streaming.minBatchesToRetain": "10",
    # Checkpoints are disposable: plain files, without the process per file that Hadoop's FileContext starts, take a
    # quarter of the time, twice in every micro-batch.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "spark.sql.legacy.charVarcharAsString": "true",
    # Rows alone are no bound: a packed record is one row of up to 1 MiB.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(16 << 20),
}

LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {path}
appender.file.filePattern = {path}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{ISO8601}} %-5p %c{{1}}: %m%n
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 20MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 3
"""


def session(
    name: str,
    *,
    folder: Path,
    master: str = "local[2]",
    memory: str = "2g",
    conf: Mapping[str, str] | None = None,
    java: Sequence[str] | None = None,
) -> SparkSession:
    """The process's Spark session; its scratch files and its log stand in `folder`.

    `java` are options for Java in place of those that use the archive of its classes.
    """
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    logs = folder / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    log4j = logs / f"{name}.log4j2.properties"
    log4j.write_text(LOG4J.format(path=logs / f"{name}.log"))
    options = [f"-Dlog4j2.configurationFile={log4j}", f"-Dderby.system.home={folder / 'scratch'}"]
    settings = {
        **SETTINGS,
        **_classes(master),
        "spark.driver.memory": memory,
        "spark.driver.extraJavaOptions": shlex.join([*options, *(archive.options("spark") if java is None else java)]),
        "spark.local.dir": str(folder / "scratch"),
        "spark.sql.warehouse.dir": str(folder / "scratch" / "warehouse"),
        **(conf or {}),
    }
    builder = SparkSession.builder.appName(f"tarnbeck {name}").master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    with _errors_to(logs / f"{name}.err"):
        made: SparkSession = builder.getOrCreate()
    return made


def _classes(master: str) -> dict[str, str]:
    """Where Spark finds the jars. What is for executors it would copy at every start, and Java would not archive it."""
    found = [str(jar) for jar in jars("spark")]
    if master.startswith("local"):
        return {"spark.driver.extraClassPath": os.pathsep.join(found)}
    return {"spark.jars": ",".join(found)}


def by_value(modules: Iterable[str]) -> None:
    """Lets workers get what these modules define with the work itself: nothing of users must be installed there."""
    from pyspark import cloudpickle

    for name in modules:
        cloudpickle.register_pickle_by_value(sys.modules[name])


@contextmanager
def _errors_to(path: Path) -> Iterator[None]:
    """What a Java machine that is started meanwhile prints, such as warnings of its own, goes to a file for good."""
    sys.stderr.flush()
    own = os.dup(2)
    with path.open("wb") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    except BaseException:
        # Why Java did not start is told there alone.
        os.write(own, path.read_bytes()[-4000:])
        raise
    finally:
        os.dup2(own, 2)
        os.close(own)
