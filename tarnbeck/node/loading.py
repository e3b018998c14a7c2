"""Finds the application in a user's file."""

from __future__ import annotations

import runpy
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tarnbeck.app import App
from tarnbeck.errors import DeclarationError, UsageError
from tarnbeck.spark.session import by_value
from tarnbeck.store.protocol import Store

FILE = "file"
"""The key of the application's file among the store's small facts."""
MARK = '"_code"'
"""What stands in the definition of a view with an aggregate of a user's own."""


def load(path: Path) -> App:
    """Runs the file and gives back the one App that it declares."""
    if not path.is_file():
        raise UsageError(
            f"no file '{path}'\n  expected a Python file that declares a tb.App; make one: tarnbeck init FOLDER"
        )
    try:
        with _importing(path.absolute().parent):
            names = runpy.run_path(str(path), run_name="__tarnbeck__")
    except DeclarationError as wrong:
        raise DeclarationError(f"{path}:{_line(wrong, path)}: {wrong}") from None
    except SyntaxError as wrong:
        raise DeclarationError(f"{path}:{wrong.lineno}: {wrong.msg}") from None
    except Exception as wrong:  # whatever a user's file raises is the user's to see, with the place
        raise DeclarationError(f"{path}:{_line(wrong, path)}: {type(wrong).__name__}: {wrong}") from wrong
    apps = {id(value): value for value in names.values() if isinstance(value, App)}
    if len(apps) != 1:
        raise UsageError(
            f"'{path}' declares {len(apps) or 'no'} apps\n  expected exactly one, such as app = tb.App('name')"
        )
    (app,) = apps.values()
    if not app.streams:
        raise DeclarationError(f"{path}: app '{app.name}' has no stream\n  declare one with app.stream(…)")
    return app


@contextmanager
def _importing(folder: Path) -> Iterator[None]:
    """Modules that stand beside a file can be imported by it, as when Python runs it."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def modules_in(folder: Path) -> dict[str, Path]:
    """The modules that this process has loaded from an app's folder, or from packages in it, and their files."""
    found = {}
    for name, module in list(sys.modules.items()):
        file = Path(getattr(module, "__file__", None) or "/")
        if file.is_relative_to(folder) and name.partition(".")[0] not in ("__main__", "tarnbeck"):
            inner = file.relative_to(folder).parts
            if "site-packages" not in inner and not inner[0].startswith("."):
                found[name] = file
    return found


def load_shipped(path: Path) -> App:
    """As `load`, for a process with a Spark session: workers get what stands beside the file by value, too."""
    app = load(path)
    by_value(modules_in(path.absolute().parent))
    return app


def load_custom(store: Store) -> None:
    """Loads the file that declares the application, if a view needs a class of it: no catalog holds code."""
    path = store.meta(FILE)
    if path is not None and Path(path).is_file() and any(MARK in v.definition for v in store.versions().values()):
        load(Path(path))


def folder_of(store: Store) -> Path:
    """The folder of the file that declares the application, which names of other files are relative to."""
    path = store.meta(FILE)
    return Path.cwd() if path is None else Path(path).parent


def _line(error: BaseException, path: Path) -> int:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == path]
    return frames[-1].lineno or 0 if frames else 0
