"""`tarnbeck correct`: makes up for an event that was wrong, by appending to the log."""

from __future__ import annotations

from typing import Annotated

import typer

from tarnbeck.cli import show
from tarnbeck.cli.options import FOLDER, Folder, Json, pairs
from tarnbeck.cli.place import Broker, Properties, log_of, stream_of
from tarnbeck.cli.quarantine import Stream, place_of
from tarnbeck.cli.send import as_dict, told

Place = Annotated[str, typer.Argument(metavar="PARTITION:OFFSET[:INDEX]", help="Its place, as `tail` shows it.")]
Changes = Annotated[
    list[str] | None, typer.Argument(metavar="COLUMN=VALUE", help="What is right; nothing behind = is null.")
]
TakeBack = Annotated[
    list[str] | None,
    typer.Option("--take-back", metavar="COLUMN", help="A number to take back, with the other sign; may be repeated."),
]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; it is kept with the events.")]


def correct(
    stream: Stream,
    place: Place,
    changes: Changes = None,
    take_back: TakeBack = None,
    *,
    reason: Reason,
    json: Json = False,
    broker: Broker = None,
    properties: Properties = None,
    folder: Folder = FOLDER,
) -> None:
    """Make up for a wrong event; nothing in the log is changed.

    With --take-back, the event is appended once more with these numbers turned round, so that sums are as if it had
    never been. With COLUMN=VALUE, it is appended as it should have been.
    """
    from tarnbeck.log import correct as log
    from tarnbeck.log.produce import ours

    wanted = pairs(changes, "change", "price=4.50")
    declared = ours(stream_of(folder, stream), "correct")
    settings = log_of(folder, broker, properties)
    partition, offset, *index = place_of(place)
    where = partition, offset, index[0] if index else 0
    done = log.correct(settings, declared, where, changed=wanted, taken_back=take_back or (), reason=reason)
    if json:
        show.say(show.as_json(as_dict(done.sent) | {"wrong": done.wrong, "appended": list(done.appended)}))
        return
    show.say(f"wrong:    {show.printable(done.wrong.decode(errors='replace'))}")
    for value in done.appended:
        show.say(f"appended: {show.printable(value.decode(errors='replace'))}")
    show.say(told(done.sent))
