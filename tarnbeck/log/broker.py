"""The embedded broker: one Kafka node in a process of its own, started, found again and stopped by its folder."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import socket
import subprocess
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tarnbeck.errors import LogError, SetupError
from tarnbeck.log import process
from tarnbeck.log.settings import LogSettings
from tarnbeck.spark import archive
from tarnbeck.spark.jars import find_java, jars

HOST = "127.0.0.1"
HEAP = "512m"
UP_WITHIN = 90.0
"""Seconds a start may take: two on a quiet machine, more when the log must be recovered after a kill."""
DOWN_WITHIN = 30.0
GIVEN_UP_WITHIN = 1.0
"""Seconds for one that has not started yet: whoever waits for it has just given up."""

PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller}
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller}
advertised.listeners=PLAINTEXT://{host}:{port}
controller.listener.names=CONTROLLER
log.dirs={data}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
# After a kill the controller, which is the same process, lets the broker in again only when its old session is over.
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
auto.create.topics.enable=false
message.max.bytes=8388608
# Only what the lake holds may be deleted, so nothing is deleted by age or size.
log.retention.ms=-1
log.retention.bytes=-1
"""


@dataclass(frozen=True)
class Broker:
    """A running embedded broker; `folder` is the data folder of the application."""

    folder: Path
    pid: int
    port: int
    controller: int
    cluster: str

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def settings(self) -> LogSettings:
        return LogSettings(self.address)

    def stop(self) -> None:
        """Ends it in order; a broker that is gone already is no error."""
        if _is_ours(self.folder, self.pid):
            process.end(self.pid, DOWN_WITHIN)


def start(folder: Path, options: Sequence[str] | None = None) -> Broker:
    """The folder's broker: the one that runs, else a new one on the same ports as before when they are free.

    `options` are for Java, in place of those that use the archive of its classes.
    """
    folder = folder.absolute()
    with _starting(folder):
        known = _recorded(folder)
        if known and _is_ours(folder, known.pid):
            _await(known)
            return known
        java = str(find_java())
        classpath = os.pathsep.join(map(str, jars("broker")))
        port, controller = _ports(known)
        flags = archive.options("broker") if options is None else options
        _format(folder, java, classpath)
        settings = _write_properties(folder, "server.properties", folder / "kafka" / "data", port, controller)
        pid = process.spawn(_command(folder, [java, *flags], classpath, settings), _output(folder))
        broker = Broker(folder, pid, port, controller, _cluster(folder))
        _record(broker)
        try:
            _await(broker)
        except BaseException:
            # Nobody knows of it yet, so nobody else would end it; what it holds, it recovers.
            process.end(pid, GIVEN_UP_WITHIN)
            raise
        return broker


def find(folder: Path) -> Broker | None:
    """The folder's broker when it runs and answers."""
    known = _recorded(folder.absolute())
    if known and _is_ours(known.folder, known.pid) and _answers(known, 5.0):
        return known
    return None


@contextmanager
def _starting(folder: Path) -> Iterator[None]:
    """Lets one process at a time start the broker of a folder."""
    try:
        for part in ("kafka", "logs"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        lock = (folder / "kafka" / "start.lock").open("w")
    except OSError as error:
        raise SetupError(f"broker: can't write to {folder}: {error}\n  choose another data folder") from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _state(folder: Path) -> Path:
    return folder / "kafka" / "broker.json"


def _output(folder: Path) -> Path:
    """What Java itself prints, such as why it can't start; Kafka's own log is broker.log."""
    return folder / "logs" / "broker.out"


def _record(broker: Broker) -> None:
    fresh = _state(broker.folder).with_suffix(".new")
    fresh.write_text(json.dumps({k: v for k, v in asdict(broker).items() if k != "folder"}) + "\n")
    fresh.replace(_state(broker.folder))


def _recorded(folder: Path) -> Broker | None:
    """The broker that was started last; it may have ended since."""
    try:
        return Broker(folder, **json.loads(_state(folder).read_text()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise SetupError(
            f"broker: {_state(folder)} is not readable: {error}\n  stop the broker and remove it"
        ) from error


def _is_ours(folder: Path, pid: int) -> bool:
    """Whether the process runs this folder's broker: after a reboot the pid may be anybody's."""
    return f"kafka.Kafka {folder / 'kafka' / 'server.properties'}" in process.command_of(pid)


def _answers(broker: Broker, timeout: float) -> bool:
    """Whether this very cluster answers on the recorded port."""
    client = AdminClient({**broker.settings.client(), "reconnect.backoff.max.ms": 200})
    try:
        return bool(client.list_topics(timeout=timeout).cluster_id == broker.cluster)
    except KafkaException:
        return False


def _await(broker: Broker) -> None:
    deadline = time.monotonic() + UP_WITHIN
    while not _answers(broker, 1.0):
        if process.ended(broker.pid, 0.05):
            raise LogError(f"broker: it ended while it started\n{_tail(broker.folder)}")
        if time.monotonic() > deadline:
            raise LogError(
                f"broker: it did not answer on {broker.address} within {UP_WITHIN:.0f} s, and was ended\n"
                f"{_tail(broker.folder)}\n  try again"
            )


def _tail(folder: Path) -> str:
    """The last lines of what Java printed and of Kafka's log, for an error."""
    shown = []
    for path in (_output(folder), folder / "logs" / "broker.log"):
        if path.exists():
            lines = path.read_text(errors="replace").splitlines()[-12:]
            shown += [f"  {path}:", *(f"    {line}" for line in lines)] if lines else []
    return "\n".join(shown) or f"  nothing was logged in {folder / 'logs'}"


def _ports(known: Broker | None) -> tuple[int, int]:
    """Two free ports: the former ones, so that clients find the broker again, else any."""
    if known and _free(known.port) and _free(known.controller):
        return known.port, known.controller
    with ExitStack() as stack:
        held = [stack.enter_context(socket.create_server((HOST, 0))) for _ in range(2)]
        port, controller = (each.getsockname()[1] for each in held)
    return port, controller


def _free(port: int) -> bool:
    try:
        with socket.create_server((HOST, port)):
            return True
    except OSError:
        return False


def _write_properties(folder: Path, name: str, data: Path, port: int, controller: int) -> Path:
    path = folder / "kafka" / name
    path.write_text(PROPERTIES.format(host=HOST, port=port, controller=controller, data=_escaped(data)))
    return path


def _escaped(path: Path) -> str:
    """A path as Java's properties read it; Kafka would take a comma for the end of a folder's name."""
    if "," in str(path):
        raise SetupError(
            f"broker: Kafka can't keep data in a folder with a comma in its name: {path}\n  choose another"
        )
    text = str(path).replace("\\", "\\\\")
    return "".join(c if c.isascii() else "".join(f"\\u{u:04x}" for u in _utf16(c)) for c in text)


def _utf16(character: str) -> Iterator[int]:
    raw = character.encode("utf-16-be")
    yield from (int.from_bytes(raw[i : i + 2]) for i in range(0, len(raw), 2))


def _format(folder: Path, java: str, classpath: str) -> None:
    """Makes Kafka's data folder once: under another name first, so that it is whole as soon as it exists."""
    data = folder / "kafka" / "data"
    if data.exists():
        return
    fresh = data.with_suffix(".new")
    shutil.rmtree(fresh, ignore_errors=True)
    settings = _write_properties(folder, "format.properties", fresh, 1, 2)
    # The tool takes an id that begins with a dash for an option.
    cluster = "t" + urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:22]
    tool = [java, *_logging(folder), "-cp", classpath, "kafka.tools.StorageTool", "format"]
    done = subprocess.run(  # noqa: S603
        [*tool, "-t", cluster, "-c", str(settings)], capture_output=True, text=True, timeout=UP_WITHIN, check=False
    )
    if done.returncode:
        raise LogError(f"broker: {data} can't be formatted\n  {(done.stderr or done.stdout).strip()}")
    settings.unlink()
    fresh.rename(data)


def _cluster(folder: Path) -> str:
    meta = folder / "kafka" / "data" / "meta.properties"
    for line in meta.read_text().splitlines():
        if line.startswith("cluster.id="):
            return line.removeprefix("cluster.id=")
    raise LogError(f"broker: no cluster.id in {meta}\n  the data folder is damaged: restore it from a backup")


def _logging(folder: Path) -> list[str]:
    config = resources.files("tarnbeck.log").joinpath("log4j2.properties")
    return [f"-Dlog4j2.configurationFile={config}", f"-Dtarnbeck.broker.log={folder / 'logs' / 'broker.log'}"]


def _command(folder: Path, java: Sequence[str], classpath: str, settings: Path) -> list[str]:
    flags = [f"-Xmx{HEAP}", "-XX:+ExitOnOutOfMemoryError", "-Djava.awt.headless=true", *_logging(folder)]
    return [*java, *flags, "-cp", classpath, "kafka.Kafka", str(settings)]
