"""Why a notice did not arrive."""

from __future__ import annotations

from tarnbeck.errors import TarnbeckError


class Undelivered(TarnbeckError):
    """A notice did not arrive; it is tried again."""


class Refused(Undelivered):
    """A notice was refused for what it is, so it is not tried again."""
