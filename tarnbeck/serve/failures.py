"""Errors on their way through HTTP: which status each has, and how the other side gets the same class back."""

from __future__ import annotations

from typing import Any

from tarnbeck import errors
from tarnbeck.errors import TarnbeckError
from tarnbeck.serve.answer import MissingError

STATUS: dict[type[TarnbeckError], int] = {
    MissingError: 404,
    errors.UsageError: 400,
    errors.DeclarationError: 400,
    errors.StoreError: 409,
    errors.LakeError: 409,
    errors.NotReady: 503,
    errors.LogError: 503,
    errors.SetupError: 503,
}


def status(error: TarnbeckError) -> int:
    """The HTTP status of the nearest class that has one."""
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)


def told(error: TarnbeckError) -> dict[str, str]:
    """The error by the name of its class in `tarnbeck.errors`, which every other process knows too."""
    kind = next(kind for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
    return {"kind": kind.__name__, "message": str(error)}


def raised(found: dict[str, Any]) -> TarnbeckError:
    """The error that another process told of."""
    kind = getattr(errors, str(found.get("kind")), None)
    if not (isinstance(kind, type) and issubclass(kind, TarnbeckError)):
        kind = TarnbeckError
    return kind(str(found.get("message")))
