"""`tarnbeck up`: runs an app on this machine until it is told to stop."""

from __future__ import annotations

import os
import re
import sys
import time
from typing import Annotated, NoReturn

import typer

from tarnbeck.cli import show
from tarnbeck.cli.options import APP, FOLDER, AppFile, Batches, Folder, Seconds
from tarnbeck.cli.place import Broker, Properties, properties_of
from tarnbeck.cli.signals import asked_to_stop, stopped_by_signals
from tarnbeck.errors import UsageError


def up(
    app: AppFile = APP,
    broker: Broker = None,
    properties: Properties = None,
    host: Annotated[str, typer.Option("--host", help="The address that the HTTP API listens on.")] = "127.0.0.1",
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, help="Its port; 8787 or a free one if none is named.")
    ] = None,
    batch_every: Batches = "10m",
    master: Annotated[str, typer.Option("--master", help="Where Spark runs.")] = "local[2]",
    lake: Annotated[str | None, typer.Option("--lake", help="Where the lake is; in the folder if not named.")] = None,
    reload: Annotated[
        bool, typer.Option("--reload", help="Take changes of the file over as it is saved; views are switched at once.")
    ] = False,
    folder: Folder = FOLDER,
    seconds: Seconds = None,
) -> None:
    """Run an app: log, lake, speed and batch layers, serving.

    It stays in the foreground and tells what it does; Ctrl-C stops everything in order.
    """
    from tarnbeck.node.loading import load
    from tarnbeck.node.node import Node
    from tarnbeck.node.reload import Reload
    from tarnbeck.node.settings import PORT, Settings

    settings = Settings(
        folder=folder.absolute(),
        broker=broker,
        properties=properties_of(properties),
        host=host,
        port=PORT if port is None else port,
        batch_every=every(batch_every),
        master=master,
        lake=lake,
        app=app.absolute(),
        token=given_token(),
    )
    changes = Reload(app.absolute()) if reload else None
    again = False
    with stopped_by_signals(), Node(settings, load(app)) as node:
        node.start(log)
        log(f"ready: {node.url}")
        with asked_to_stop(after=seconds) as stop:
            if changes is None:
                node.wait(stop)
            else:
                log(f"watching {app}: what it declares is built and answers when you save it")
                again = changes.follow(node, stop, log)
            log("stopping")
            if again:
                # Still in here: who presses Ctrl-C now wants no new start.
                node.stop()
                again = not stop.is_set()
    if again:
        start_again(node.url.rpartition(":")[2], node.token)
    log("stopped")


TOKEN = "TARNBECK_TOKEN"  # noqa: S105 (the name of a variable)


def given_token() -> str | None:
    """The token that this start is told to take; what this process starts must not inherit it."""
    token = os.environ.pop(TOKEN, None)
    if token is not None and not re.fullmatch(r"[!-~]{16,}", token):
        raise UsageError(f"up: bad {TOKEN}\n  expected 16 or more ASCII characters, none of them blank")
    return token


def start_again(port: str, token: str) -> NoReturn:
    """Runs the same command in this process's place: a new Python, as this one keeps the modules that it has loaded.

    Port and token stay those that browsers and programs know by now.
    """
    os.environ[TOKEN] = token
    same, named = sys.orig_argv[1:], ["--port", port]
    os.execv(sys.executable, [sys.executable, *same, *([] if same[-2:] == named else named)])  # noqa: S606


def every(text: str) -> int | None:
    """How often batches run, in microseconds.

    >>> every("10m"), every("never")
    (600000000, None)
    """
    from tarnbeck.window.duration import duration

    return None if text == "never" else duration(text)


def log(line: str) -> None:
    """One short line with the time."""
    show.say(f"{time.strftime('%H:%M:%S')} {line}")
