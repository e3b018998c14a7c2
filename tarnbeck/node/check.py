"""Loads an application's file in a process of its own: whether a node could start with it, and what it declares."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from tarnbeck.app import App
from tarnbeck.errors import DeclarationError, TarnbeckError
from tarnbeck.node.loading import load, modules_in
from tarnbeck.node.register import startable
from tarnbeck.plan.definition import Definition
from tarnbeck.serve.clock import now
from tarnbeck.store.sqlite import SQLiteStore

PATIENCE = 60
"""Seconds that a file may take to load."""


@dataclass(frozen=True)
class Checked:
    """What a file declares, and the files that it is made of: itself, and those beside it that it imports."""

    definition: Definition
    files: tuple[Path, ...]


def declared(app: App) -> Definition:
    """All that an app declares, as JSON; alerts as a hash, because the places that they go to may be secret."""
    rules = [
        [rule.name, rule.definition(), rule.last, rule.only_closed, [asdict(each) for each in rule.to]]
        for rule in app.alerts.values()
    ]
    alerts = hashlib.sha256(json.dumps(rules).encode()).hexdigest()
    found: Definition = json.loads(json.dumps({**app.definition(), "alerts": alerts}))
    return found


def check(path: Path, folder: Path) -> Checked:
    """The file as it is now, read anew with all that it imports; an error if a node could not start with it."""
    command = [sys.executable, "-m", "tarnbeck.node.check", str(path), str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, start_new_session=True, check=False)  # noqa: S603
    if done.returncode == -signal.SIGALRM:
        raise DeclarationError(f"{path}: it did not load within {PATIENCE} s\n  a file of declarations must not wait")
    if done.returncode or not done.stdout:
        raise DeclarationError(
            f"{path}: it ended with code {done.returncode} instead of loading\n  see what it printed"
        )
    found = json.loads(done.stdout)
    if "error" in found:
        raise DeclarationError(found["error"])
    return Checked(found["definition"], tuple(map(Path, found["files"])))


def main(path: Path, folder: Path) -> None:
    # Whoever asked may be gone before this ends.
    signal.alarm(PATIENCE)
    # What the file prints must not get into the answer.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        app = load(path)
        store = SQLiteStore(folder / "store", now)
        startable(app, store)
        told = {"definition": declared(app), "files": [str(path), *map(str, modules_in(path.parent).values())]}
    except TarnbeckError as error:
        told = {"error": str(error)}
    answer.write(json.dumps(told))
    answer.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
