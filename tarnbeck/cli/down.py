"""`tarnbeck down`: stops what runs in a folder."""

from __future__ import annotations

from tarnbeck.cli import show
from tarnbeck.cli.options import FOLDER, Folder, Json

PATIENCE = 60.0
"""Seconds that a node may take to stop in order."""


def down(json: Json = False, folder: Folder = FOLDER) -> None:
    """Stop the app that runs in a folder, and a broker that was left behind."""
    from tarnbeck.log import broker, process
    from tarnbeck.node.running import running

    say = show.note if json else show.say
    node = running(folder)
    if node is not None:
        say(f"stopping app '{node['app']}' (process {node['pid']})")
        process.end(int(node["pid"]), PATIENCE)
    left = broker.find(folder)
    if left is not None:
        say(f"stopping the broker at {left.address} (process {left.pid})")
        left.stop()
    if json:
        stopped = {"app": node["app"] if node else None, "broker": left.address if left else None}
        show.say(show.as_json(stopped))
    else:
        show.say("stopped" if node or left else f"nothing runs in '{folder}'")
