"""The `tarnbeck` command: the table of all commands, and the one place where errors become exit codes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from tarnbeck.cli import (
    alerts,
    audit,
    batch,
    correct,
    demo,
    deploy,
    doctor,
    down,
    example,
    failure,
    init,
    lake,
    page,
    quarantine,
    query,
    send,
    sql,
    status,
    tail,
    up,
    verify,
    version,
    versions,
    watch,
)
from tarnbeck.cli.options import Session

RUNNING, EVENTS, ASKING, TRUST, CHANGING = "Running", "Events", "Asking", "Trust", "Changing"


@dataclass(frozen=True)
class Command:
    """One command: its words, what it runs, where the help lists it, and an example."""

    name: str
    run: Callable[..., Any]
    panel: str | None
    example: str


COMMANDS = (
    Command("demo", demo.demo, RUNNING, "tarnbeck demo --seconds 90"),
    Command("example", example.example, RUNNING, "tarnbeck example house"),
    Command("init", init.init, RUNNING, "tarnbeck init shop"),
    Command("up", up.up, RUNNING, "tarnbeck up app.py --batch-every 10m"),
    Command("down", down.down, RUNNING, "tarnbeck down"),
    Command("status", status.status, RUNNING, "tarnbeck status"),
    Command("alerts", alerts.alerts, RUNNING, "tarnbeck alerts --test hot_attic"),
    Command("page", page.page, RUNNING, "tarnbeck page --open"),
    Command("doctor", doctor.doctor, RUNNING, "tarnbeck doctor"),
    Command("version", version.version, RUNNING, "tarnbeck version"),
    Command("send", send.send, EVENTS, "tarnbeck send prices file.ndjson"),
    Command("correct", correct.correct, EVENTS, "tarnbeck correct orders 0:17 pieces=2 --reason typo"),
    Command("tail", tail.tail, EVENTS, "tarnbeck tail prices --from earliest --count 10"),
    Command("query", query.query, ASKING, "tarnbeck query ohlc currency=EUR --last 1h --per minute"),
    Command("sql", sql.sql, ASKING, 'tarnbeck sql "select currency, trades from total order by trades desc"'),
    Command("watch", watch.watch, ASKING, "tarnbeck watch ohlc currency=EUR --per second --column close"),
    Command("batch", batch.batch, TRUST, "tarnbeck batch ohlc --full"),
    Command("audit", audit.audit, TRUST, "tarnbeck audit"),
    Command("lake", lake.lake, TRUST, "tarnbeck lake"),
    Command("deploy", deploy.deploy, CHANGING, "tarnbeck deploy app.py"),
    Command("replay", deploy.replay, CHANGING, "tarnbeck replay ohlc --max-rate 100000"),
    Command("verify", verify.verify, CHANGING, "tarnbeck verify ohlc"),
    Command("switch", versions.switch, CHANGING, "tarnbeck switch ohlc volume --reason 'prices in cents'"),
    Command("rollback", versions.rollback, CHANGING, "tarnbeck rollback ohlc"),
    Command("drop", versions.drop, CHANGING, "tarnbeck drop ohlc --version 3"),
    Command("versions", versions.versions, CHANGING, "tarnbeck versions ohlc"),
)
QUARANTINE = (
    Command("list", quarantine.listed, None, "tarnbeck quarantine list prices --limit 20"),
    Command("show", quarantine.shown, None, "tarnbeck quarantine show prices 0:617"),
    Command("retry", quarantine.retried, None, "tarnbeck quarantine retry prices 0:617 1:20"),
)


def _group(commands: tuple[Command, ...], **options: Any) -> typer.Typer:
    group = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, **options)
    for command in commands:
        added = group.command(command.name, rich_help_panel=command.panel, epilog=f"Example: {command.example}")
        added(command.run)
    return group


def _root(
    context: typer.Context,
    debug: Annotated[
        bool, typer.Option("--debug", envvar="TARNBECK_DEBUG", help="Show the traceback of an error.")
    ] = False,
) -> None:
    """Answers over all data ever received, including the last second."""
    if isinstance(context.obj, Session):
        context.obj.debug = debug


def application() -> typer.Typer:
    """All commands, ready to be called."""
    app = _group(COMMANDS, epilog="Start here: tarnbeck demo")
    app.add_typer(
        _group(QUARANTINE, help="Events that could not be decoded: list, show, retry."),
        name="quarantine",
        rich_help_panel=TRUST,
        epilog="Example: tarnbeck quarantine list prices",
    )
    app.callback()(_root)
    return app


def main(arguments: list[str] | None = None) -> None:
    """The console script: every error ends in one message and an exit code."""
    session = Session()
    try:
        # Not on its own: typer would tell of wrong words in its own form.
        code = application()(arguments, obj=session, prog_name="tarnbeck", standalone_mode=False)
    except Exception as error:  # the last frame before the user: nothing is swallowed, all is told
        sys.exit(failure.tell(error, session))
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
