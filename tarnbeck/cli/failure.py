"""What a user sees of an error: one message without a traceback, which is kept in a file when nobody expected it."""

from __future__ import annotations

import tempfile
import time
import traceback
from pathlib import Path

import typer

from tarnbeck.cli.options import Session
from tarnbeck.errors import TarnbeckError

UNEXPECTED = 70


def tell(error: Exception, session: Session) -> int:
    """Prints the error on stderr; gives the exit code."""
    if session.debug:
        typer.echo("".join(traceback.format_exception(error)), err=True, nl=False)
    if isinstance(error, TarnbeckError):
        typer.echo(f"tarnbeck: {error}", err=True)
        return error.exit_code
    typer.echo(f"tarnbeck: unexpected {type(error).__name__}: {_first_line(error)}", err=True)
    if not session.debug:
        typer.echo(f"  the traceback is in {_keep(error, session.folder)}", err=True)
    return UNEXPECTED


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
