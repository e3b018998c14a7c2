"""Takes changes of an application's file over while its node runs: for developing, where a save should be enough."""

from __future__ import annotations

import getpass
import json
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from tarnbeck.errors import TarnbeckError
from tarnbeck.node.check import check, declared
from tarnbeck.node.loading import MARK, modules_in
from tarnbeck.node.node import Node
from tarnbeck.node.register import outlook
from tarnbeck.plan.definition import Definition
from tarnbeck.serve.failures import raised

EVERY = 0.3
"""Seconds between two looks at the files."""
REASON = "up --reload"
Tell = Callable[[str], None]
Stamps = dict[Path, tuple[int, int, int] | None]


def stamps(files: Iterable[Path]) -> Stamps:
    """What tells one content of a file from another; None where there is no file."""
    found: Stamps = {}
    for path in files:
        try:
            facts = path.stat()
        except FileNotFoundError:
            found[path] = None
        else:
            found[path] = facts.st_mtime_ns, facts.st_size, facts.st_ino
    return found


def needs_start(before: Definition, after: Definition) -> bool:
    """Whether a running node can't take a declaration over: it can if only views changed that need no code of users."""
    known = [json.dumps(view) for view in before["views"]]
    fresh = [text for text in map(json.dumps, after["views"]) if text not in known]
    return any(before[part] != after[part] for part in ("mode", "streams", "alerts")) or any(
        MARK in text for text in fresh
    )


class Reload:
    """The files of a running application, and what was made of them so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen = stamps([path])
        self._built: set[int] = set()

    def follow(self, node: Node, stop: threading.Event, tell: Tell) -> bool:
        """Takes changes over until told to stop, or, which gives True, until one asks for a new start."""
        self._declared = declared(node.app)
        # The file's own stamp is older: what changed while the node started is taken over, too.
        latest = self._seen = stamps(modules_in(self.path.parent).values()) | self._seen
        ahead = outlook(node.app, node.store)
        self._answers = not (ahead.changed or ahead.waiting)
        first = not self._answers
        while not stop.wait(EVERY):
            before, latest = latest, stamps(self._seen)
            if not first and (latest == self._seen or latest != before):
                # Editors write a file in several steps: it is looked at when it rests.
                continue
            first, self._seen = False, latest
            taken = aside(lambda: self._take(node, tell))
            while not taken.done():
                if stop.wait(0.1):
                    return False
            if taken.result():
                return True
        return False

    def _take(self, node: Node, tell: Tell) -> bool:
        """Lets what the file declares answer, or tells why that can't be; whether it asks for a new start."""
        try:
            found = check(self.path, node.settings.folder)
            self._seen = {path: self._seen.get(path, stamp) for path, stamp in stamps(found.files).items()}
            if self._answers and found.definition == self._declared:
                tell(f"{self.path.name} changed, its declarations did not")
            elif needs_start(self._declared, found.definition):
                tell(f"{self.path.name} changed more than views: starting again")
                return True
            else:
                self._answers = False
                self._deploy(node, found.definition, tell)
                self._declared, self._answers = found.definition, True
        except TarnbeckError as error:
            # What is wrong may be in a module that could not even be imported, so nobody knows its name.
            near = [each for depth in ("*.py", "*/*.py") for each in self.path.parent.glob(depth)]
            self._seen = stamps(near) | self._seen
            tell(f"{error}\n  the app goes on as it was; {self.path.name} is tried again when it changes")
        return False

    def _deploy(self, node: Node, definition: Definition, tell: Tell) -> None:
        """Builds what changed beside what answers, as `deploy` does; then, as nobody else is asking, switches to it."""
        tell(f"building what {self.path.name} declares now")
        made = asked(node, {"do": "deploy", "app": definition})
        for view, lines in made["changed"].items():
            tell("\n".join([f"view '{view}' is declared otherwise now", *(f"  {line}" for line in lines)]))
        for each in made["versions"]:
            self._built.add(each["version"])
            built = f"{each['view']} version {each['version']}"
            tell(f"built: {built} from {each['records']:,} records in {each['seconds']} s")
        if made["ready"]:
            switch = {"do": "switch", "targets": made["ready"], "who": getpass.getuser(), "reason": REASON}
            for each in asked(node, switch)["switched"]:
                tell(f"switched: {each['view']} from version {each['before']} to {each['after']}")
                self._tidy(node, each)
        if made["removed"]:
            tell(f"no longer declared, kept until dropped: {', '.join(made['removed'])}")

    def _tidy(self, node: Node, switched: dict[str, Any]) -> None:
        """Drops what this made before, but for the last: each version is fed, and edits are many."""
        keep = (switched["before"], switched["after"])
        for version in list(node.store.versions().values()):
            if version.view == switched["view"] and version.id in self._built and version.id not in keep:
                asked(node, {"do": "drop", "view": version.view, "version": version.id})


def asked(node: Node, job: dict[str, Any]) -> Any:
    """A job's result."""
    *_, last = node.run(job)
    if "error" in last:
        raise raised(last["error"])
    return last["result"]


def aside(work: Callable[[], bool]) -> Future[bool]:
    """Work in a thread that nobody waits for at the end: stopping must not take as long as a replay."""
    done: Future[bool] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # raised again by whoever asks for the result
            done.set_exception(error)

    threading.Thread(target=run, name="reload", daemon=True).start()
    return done
