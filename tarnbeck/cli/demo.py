"""`tarnbeck demo`: the Bitcoin example with a generated feed, watched live, and audited at the end."""

from __future__ import annotations

from tarnbeck.cli.options import FOLDER, Folder, Rate, Seconds, Seed
from tarnbeck.cli.play import play


def demo(seconds: Seconds = None, rate: Rate = None, seed: Seed = 1, folder: Folder = FOLDER) -> None:
    """Run the Bitcoin example with a generated feed.

    All layers are on, and a batch runs every minute. At the end an audit shows that nothing is missing.
    """
    from tarnbeck.examples.registry import EXAMPLES

    example = EXAMPLES["bitcoin"]
    play(example, folder, seconds, rate or example.rate, seed)
