"""`tarnbeck init`: a new app in a folder of its own, which runs as it is."""

from __future__ import annotations

import re
import shlex
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from tarnbeck.cli import show
from tarnbeck.cli.options import Json
from tarnbeck.errors import SetupError, UsageError

NAME = "my_app"
"""What the app is called in the template: a name that stands for nothing else there."""
FILES = ("app.py", "events.ndjson", "test_app.py", "README.md", ".gitignore")


def init(
    folder: Annotated[Path, typer.Argument(metavar="[FOLDER]", help="A new folder, whose name the app gets.")] = Path(),
    json: Json = False,
) -> None:
    """Make a new app that runs at once.

    A stream, two views, a test of them, and a few events to send. Nothing that exists is overwritten.
    """
    name = named(folder)
    made = write(folder, name)
    if json:
        show.say(show.as_json({"app": name, "folder": str(folder.absolute()), "files": [path.name for path in made]}))
        return
    show.say(f"made app '{name}': {', '.join(map(str, made))}")
    show.say("next:")
    for line in steps(folder):
        show.say(f"  {line}")


def named(folder: Path) -> str:
    """The name of an app in this folder: that of the folder, in the letters that names have.

    >>> named(Path("apps/My-Shop")), named(Path("2026"))
    ('my_shop', 'app_2026')
    """
    text = re.sub(r"[^a-z0-9]+", "_", folder.absolute().resolve().name.lower()).strip("_")[:50]
    return text if text[:1].isalpha() else f"app_{text}".rstrip("_")


def write(folder: Path, name: str) -> list[Path]:
    """Writes the template: all of its files, or none when one of them exists or can't be written."""
    template = resources.files("tarnbeck.cli").joinpath("template")
    targets = [folder / file for file in FILES]
    there = [path.name for path in targets if path.exists() or path.is_symlink()]
    if there:
        raise UsageError(
            f"init: '{folder}' has {', '.join(there)} already, and nothing is overwritten\n"
            "  name a new folder: tarnbeck init FOLDER"
        )
    made: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in targets:
            text = template.joinpath(path.name).read_text(encoding="utf-8").replace(NAME, name)
            with path.open("x", encoding="utf-8") as file:
                made.append(path)
                file.write(text)
    except OSError as error:
        for path in made:
            path.unlink(missing_ok=True)
        raise SetupError(f"init: can't write to '{folder}': {error}\n  name another folder") from None
    return made


def steps(folder: Path) -> list[str]:
    """What to do next, as one types it."""
    enter = [] if folder.absolute() == Path.cwd() else [f"cd {shlex.quote(str(folder))}"]
    return [
        *enter,
        "tarnbeck up --reload",
        "tarnbeck send orders events.ndjson    # in a second terminal, in the same folder",
        "tarnbeck query sales --per day",
    ]
