"""Java's class archives: what Spark and the broker load at every start, checked once and then mapped into memory."""

from __future__ import annotations

import hashlib
import importlib.metadata
import sys
from pathlib import Path

from tarnbeck.spark.jars import Conf, jars, which_java

QUIET = ("-Xlog:disable", "-Xlog:all=warning:stderr")
"""What Java says about an archive would stand in the output of whoever started it."""


def place(conf: Conf) -> Path:
    """Where the archive of this environment stands, or would: it holds only for its Java, its Spark and its jars."""
    java = which_java().resolve()
    parts = [str(java), str(java.stat().st_mtime_ns), importlib.metadata.version("pyspark"), *map(str, jars(conf))]
    name = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    return Path(sys.prefix) / "share" / "tarnbeck" / f"classes-{conf}-{name}.jsa"


def options(conf: Conf) -> list[str]:
    """What to tell Java so that it uses the archive; nothing while there is none. One that does not fit is ignored."""
    archive = place(conf)
    return [f"-XX:SharedArchiveFile={archive}", *QUIET] if archive.is_file() else []


def writing(path: Path) -> list[str]:
    """What to tell Java so that it writes all it has loaded to an archive when it ends."""
    # Java's second compiler would not pay off in a run that short.
    return [f"-XX:ArchiveClassesAtExit={path}", "-XX:TieredStopAtLevel=1", *QUIET]
