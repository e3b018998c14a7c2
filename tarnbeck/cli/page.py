"""`tarnbeck page`: the address of the live page, with the right to change things."""

from __future__ import annotations

import webbrowser
from html import escape
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from tarnbeck.cli import show
from tarnbeck.cli.options import FOLDER, Folder, Json
from tarnbeck.errors import NotReady


def page(
    open_: Annotated[bool, typer.Option("--open", help="Open it in a browser, too.")] = False,
    json: Json = False,
    folder: Folder = FOLDER,
) -> None:
    """Show the address of the live page.

    Whoever opens this address may switch versions and retry events; without the part behind # the page can only look.
    """
    from tarnbeck.node.running import running

    node = running(folder)
    if node is None:
        raise NotReady(f"page: nothing runs in '{folder}'\n  start it: tarnbeck up APP.py")
    address = f"{node['url']}/#token={quote(node['token'], safe='')}"
    show.say(show.as_json({"page": address, "url": node["url"]}) if json else address)
    if open_ and not webbrowser.open(_way_to(address, folder)):
        raise NotReady("page: no browser could be opened\n  open the address above by hand")


def _way_to(address: str, folder: Path) -> str:
    """A private file that leads to the address: on the command line of a browser, all users would see the token."""
    from tarnbeck.node import private

    file = folder.absolute() / "page.html"
    private.write(file, f'<!doctype html><meta http-equiv="refresh" content="0;url={escape(address)}">\n')
    return file.as_uri()
