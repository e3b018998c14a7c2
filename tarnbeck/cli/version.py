"""`tarnbeck version`: which tarnbeck this is, and on what it stands."""

from __future__ import annotations

from tarnbeck.cli import show
from tarnbeck.cli.options import Json

PARTS = ("tarnbeck", "pyspark", "pyarrow", "duckdb", "confluent-kafka")


def version(json: Json = False) -> None:
    """Show the versions of tarnbeck and of what it stands on."""
    import platform
    from importlib import metadata

    found = {name: metadata.version(name) for name in PARTS} | {"python": platform.python_version()}
    if json:
        show.say(show.as_json(found))
    else:
        for name, number in found.items():
            show.say(f"{name} {number}")
