"""What differs between two definitions of a view, as a person reads it."""

from __future__ import annotations

from typing import Any

from tarnbeck.plan.definition import Definition


def changes(before: Definition, after: Definition) -> list[str]:
    """A line for each part that differs.

    >>> before = {"by": {"item": "item"}, "where": None, "select": {"n": ["count"]}}
    >>> after = {"by": {}, "where": "price > 0", "select": {"n": ["sum", "pieces"]}}
    >>> changes(before, after)
    ['by item: was item, now left out', 'where: new, price > 0', 'select n: was count(), now sum(pieces)']
    """
    lines = []
    for name in dict.fromkeys((*before, *after)):
        old, new = _parts(name, before.get(name)), _parts(name, after.get(name))
        for part in dict.fromkeys((*old, *new)):
            was, now = old.get(part), new.get(part)
            if was != now:
                lines.append(f"{part}: new, {now}" if was is None else f"{part}: was {was}, now {now or 'left out'}")
    return lines


def _parts(name: str, value: Any) -> dict[str, str]:
    if name in ("by", "select"):
        return {f"{name} {column}": _text(expression) for column, expression in value.items()}
    return {} if value is None else {name: _text(value)}


def _text(value: Any) -> str:
    """An aggregate as a call, options by their names, everything else as it is."""
    if isinstance(value, list):
        name, *given = value
        return f"{name}({', '.join(_text(each) for each in given)})"
    if isinstance(value, dict):
        return ", ".join(name if each is True else f"{name} {_plain(each)}" for name, each in value.items())
    return str(value)


def _plain(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
