"""One record's bytes as strict JSON: numbers keep their own text, and whatever is doubtful is refused with a reason."""

from __future__ import annotations

import json
import re

LARGEST = 1 << 20
"""The most bytes an event may have."""
DEEPEST = 64
"""The most levels of objects and arrays an event may have."""

SHOWN = 80

_STRING = re.compile(r'"(?:[^"\\]+|\\.)*"?', re.DOTALL)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_MOST_DIGITS = 20


class Reject(Exception):
    """An event that can't be decoded; its text is the reason that quarantine shows."""


class Number(str):
    """A JSON number that is no small integer, as it stood in the text."""

    __slots__ = ()


class Constant(str):
    """NaN or an infinity: Python's reader takes them, JSON has none."""

    __slots__ = ()


def load(value: bytes | None) -> dict[str, object]:
    """The JSON object that a record's value holds.

    >>> load(b'{"a": [1, 1.50, "x"]}')
    {'a': [1, '1.50', 'x']}
    >>> load(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
    tarnbeck.schema.strict.Reject: duplicate key 'a'
    """
    text = _text(value)
    try:
        found = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise Reject(_not_json(text, error.pos)) from None
    if "\\u" in text and _SURROGATE.search(text):
        _refuse_lone_surrogates(found)
    if type(found) is not dict:
        raise Reject(f"not an object, but {describe(found)}")
    return found


def raw(value: object) -> str:
    """The one canonical text of a value that `load` gave: no spaces, keys in their order, numbers as they were."""
    match value:
        case Constant():
            raise Reject(str(value))
        case Number():
            return str(value)
        case dict():
            return "{" + ",".join(f"{_quoted(key)}:{raw(item)}" for key, item in value.items()) + "}"
        case list():
            return "[" + ",".join(map(raw, value)) + "]"
    return _quoted(value)


def describe(value: object) -> str:
    """What was found, for a reason: its kind and, shortened, its text."""
    match value:
        case None:
            return "null"
        case bool():
            return f"boolean {_quoted(value)}"
        case int() | Number():
            return f"number {shorten(str(value))}"
        case Constant():
            return str(value)
        case str():
            return f"string {shorten(_quoted(value))}"
        case dict():
            return "an object"
    return "an array"


def shorten(text: str, length: int = SHOWN) -> str:
    return text if len(text) <= length else text[: length - 3] + "..."


def _text(value: bytes | None) -> str:
    if value is None:
        raise Reject("no value")
    if len(value) > LARGEST:
        raise Reject("larger than 1 MiB")
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Reject(f"bad UTF-8 at byte {error.start}") from None
    # Counting is quick and nearly always enough; only the rest is looked at bracket by bracket.
    if text.count("{") + text.count("[") > DEEPEST and _depth(text) > DEEPEST:
        raise Reject(f"nested deeper than {DEEPEST}")
    return text


def _depth(text: str) -> int:
    depth = deepest = 0
    for character in _STRING.sub("", text):
        if character in "{[":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "}]":
            depth -= 1
    return deepest


def _not_json(text: str, position: int) -> str:
    if not text.strip(" \t\r\n"):
        return "not JSON: empty"
    if position >= len(text):
        return "not JSON: ends too early"
    return f"not JSON: can't read {_quoted(text[position : position + 20])} at character {position}"


def _quoted(value: object) -> str:
    return _ENCODER.encode(value)


def _refuse_lone_surrogates(found: object) -> None:
    try:
        raw(found).encode("utf-8")
    except UnicodeEncodeError as error:
        raise Reject(f"bad text: lone surrogate \\u{ord(error.object[error.start]):04x}") from None


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise Reject(f"duplicate key {shorten(repr(key))}")
            seen.add(key)
    return found


def _whole(text: str) -> int | Number:
    return int(text) if len(text) <= _MOST_DIGITS else Number(text)


_ENCODER = json.JSONEncoder(ensure_ascii=False)
_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_whole, parse_float=Number, parse_constant=Constant, strict=True
)
