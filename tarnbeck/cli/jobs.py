"""Jobs of the node as commands see them: progress while they run, then their result or their error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tarnbeck.cli import show
from tarnbeck.errors import TarnbeckError

if TYPE_CHECKING:
    from tarnbeck.serve.control import Control

Job = dict[str, Any]
Update = dict[str, Any]


class Display(Protocol):
    """Where updates are shown."""

    def __call__(self, update: Update) -> None: ...


def run(folder: Path, job: Job) -> Any:
    """Asks the folder's node, or a session of its own when none runs; gives the result."""
    from tarnbeck.node.control import control

    with control(folder) as running:
        return ask(running, job)


def settle(folder: Path, job: Job) -> Any:
    """Asks the folder's node for a job that needs no Spark; without a node it is done here, in the store."""
    from tarnbeck.cli.place import store_of
    from tarnbeck.node import verify, versions
    from tarnbeck.node.running import running

    if running(folder) is not None:
        return run(folder, job)
    with store_of(folder) as store:
        if job["do"] == "verify":
            return verify.verify(store, job)
        return versions.run(versions.Office(store), job)


def ask(control: Control, job: Job) -> Any:
    """Runs a job and shows how far it is."""
    from tarnbeck.serve.failures import raised

    with display() as shown:
        for update in control.run(job):
            if "result" in update:
                return update["result"]
            if "error" in update:
                raise raised(update["error"])
            shown(update)
    raise TarnbeckError(f"the job '{job['do']}' ended without a result\n  see the node's logs")


@contextmanager
def display() -> Iterator[Display]:
    """A progress bar for a person; a line per step on stderr for a program."""
    if show.terminal():
        with _bar() as shown:
            yield shown
    else:
        yield lines()


def lines() -> Display:
    """Tells each new step once."""
    told: list[tuple[Any, Any]] = []

    def shown(update: Update) -> None:
        step = (update.get("view"), update.get("step"))
        if update.get("step") and told[-1:] != [step]:
            told.append(step)
            show.note(": ".join(str(part) for part in step if part))

    return shown


def estimate(left: float | None) -> str:
    """How long a job will still take.

    >>> estimate(None), estimate(4), estimate(200), estimate(9000)
    ('', 'about 4 s left', 'about 3 min left', 'about 2.5 h left')
    """
    if left is None:
        return ""
    if left < 90:
        return f"about {left:.0f} s left"
    return f"about {left / 60:.0f} min left" if left < 5400 else f"about {left / 3600:.1f} h left"


@contextmanager
def _bar() -> Iterator[Display]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    left = TextColumn("{task.fields[left]}")
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), left
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("starting", total=None, left="")

        def shown(update: Update) -> None:
            if update.get("step"):
                words = ": ".join(str(update[part]) for part in ("view", "step") if update.get(part))
                progress.update(task, description=words)
            done = update.get("done")
            total = None if done is None else 1.0
            progress.update(task, total=total, completed=done or 0.0, left=estimate(update.get("left")))

        yield shown
