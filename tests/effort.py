"""How hard random tests try: with each check a quarter of the examples, with all tests all of them."""

from __future__ import annotations

import os

ALL = os.environ.get("TARNBECK_EFFORT") == "all"


def tries(examples: int) -> int:
    """How many of so many examples are tried."""
    return examples if ALL else max(5, examples // 4)
