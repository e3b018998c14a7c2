"""Where the log of a folder is: its own broker, that of its node, or that of the apps whose streams it uses."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tarnbeck.errors import LogError
from tarnbeck.log import broker
from tarnbeck.log.settings import LogSettings
from tarnbeck.node.running import running
from tarnbeck.schema.stream import Owner, Stream


def log_at(folder: Path) -> LogSettings | None:
    """The log that an application in this folder works with now, if it runs."""
    embedded = broker.find(folder)
    if embedded is not None:
        return embedded.settings
    node = running(folder)
    return None if node is None else LogSettings(node["broker"])


def shared(folder: Path, streams: Iterable[Stream]) -> LogSettings | None:
    """The log of the applications whose streams are used; None when there are none of them.

    It holds all topics of this application, too: what is read together is read from one log.
    """
    owners = {stream.owner.folder: stream.owner for stream in streams if stream.owner is not None}
    if not owners:
        return None
    if (folder / "kafka").exists():
        raise LogError(
            f"{folder} has a log of its own, so it can't use streams of {_apps(owners.values())}\n"
            "  give this app a new folder (--folder), or run all of them on one Kafka: --broker HOST:PORT"
        )
    found = {log: owner for owner in owners.values() for log in [_log_of(owner)]}
    if len(found) > 1:
        each = ", ".join(f"{owner.app} at {log.bootstrap}" for log, owner in found.items())
        raise LogError(
            f"the apps whose streams are used have logs of their own: {each}\n"
            "  one app reads one log: run all of them on one Kafka: --broker HOST:PORT"
        )
    (log,) = found
    return log


def _log_of(owner: Owner) -> LogSettings:
    found = log_at(Path(owner.folder))
    if found is None:
        raise LogError(
            f"app '{owner.app}' does not run, and its log is needed to use '{owner.app}/{owner.stream}'\n"
            f"  start it: tarnbeck up APP.py --folder {owner.folder}, or name a Kafka: --broker HOST:PORT"
        )
    return found


def _apps(owners: Iterable[Owner]) -> str:
    return " and ".join(f"'{owner.app}'" for owner in owners)
