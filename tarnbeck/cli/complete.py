"""What the Tab key offers: views and streams of the folder that a command is about, and files that may declare apps."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import typer

Completion = Callable[[typer.Context, str], list[str]]


def _in_store(kind: str) -> Completion:
    def completed(context: typer.Context, incomplete: str) -> list[str]:
        from tarnbeck.store.names import names

        try:
            found = names(Path(context.params["folder"]) / "store", kind)
        except sqlite3.Error:
            # There is no place for an error in the middle of a line that somebody types; the command will tell.
            return []
        return [name for name in found if name.startswith(incomplete)]

    return completed


views = _in_store("views")
streams = _in_store("streams")


def _files(*ends: str) -> Completion:
    """Files with these ends; where there are none, the shell offers what it always does, folders among it."""

    def completed(context: typer.Context, incomplete: str) -> list[str]:
        before, slash, begun = incomplete.rpartition("/")
        folder = Path(before + slash or ".").expanduser()
        found = [path.name for path in folder.glob("*.*")] if folder.is_dir() else []
        wanted = [name for name in found if name.startswith(begun) and name.endswith(ends)]
        return [f"{before}{slash}{name}" for name in sorted(wanted) if begun or not name.startswith(".")]

    return completed


apps = _files(".py")
data = _files(".ndjson", ".jsonl", ".json", ".csv")


def examples(context: typer.Context, incomplete: str) -> list[str]:
    """Names of examples that begin so."""
    from tarnbeck.examples.registry import EXAMPLES

    return [name for name in EXAMPLES if name.startswith(incomplete)]
