"""What a user sees of an error: one message without a traceback, which is kept in a file when nobody expected it."""

from __future__ import annotations

import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

import typer

from tarnbeck.cli.options import Session
from tarnbeck.errors import TarnbeckError

UNEXPECTED = 70
WRONG_WORDS: type[Exception] = next(each for each in typer.BadParameter.__mro__ if each.__name__ == "ClickException")
"""What typer raises when it can't read a command line; it gives the class no name of its own."""


def tell(error: Exception, session: Session) -> int:
    """Prints the error on stderr; gives the exit code."""
    if session.debug:
        typer.echo("".join(traceback.format_exception(error)), err=True, nl=False)
    if isinstance(error, TarnbeckError):
        typer.echo(f"tarnbeck: {error}", err=True)
        return error.exit_code
    if isinstance(error, WRONG_WORDS):
        return _misread(error)
    typer.echo(f"tarnbeck: unexpected {type(error).__name__}: {_first_line(error)}", err=True)
    if not session.debug:
        typer.echo(f"  the traceback is in {_keep(error, session.folder)}", err=True)
    return UNEXPECTED


def _misread(error: Any) -> int:
    """Tells what was wrong in a command line in the form of all errors; no words at all ask for help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return int(error.exit_code)
    command = error.ctx.command_path if error.ctx is not None else "tarnbeck"
    place = command.removeprefix("tarnbeck").strip()
    message = error.format_message().rstrip(".")
    told = f"{place}: {message[:1].lower()}{message[1:]}" if place else f"{message[:1].lower()}{message[1:]}"
    typer.echo(f"tarnbeck: {told}\n  see: {command} --help", err=True)
    return int(error.exit_code)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "")


def _keep(error: Exception, folder: Path) -> Path:
    """Writes the traceback below the folder, or where any program may write when there is no folder."""
    text = "".join(traceback.format_exception(error))
    try:
        if not folder.is_dir():
            raise FileNotFoundError(folder)
        logs = folder / "logs"
        logs.mkdir(exist_ok=True)
        path = logs / time.strftime("error-%Y%m%d-%H%M%S.txt")
        path.write_text(text, encoding="utf-8")
    except OSError:
        with tempfile.NamedTemporaryFile(
            "w", prefix="tarnbeck-error-", suffix=".txt", delete=False, encoding="utf-8"
        ) as file:
            file.write(text)
        path = Path(file.name)
    return path
