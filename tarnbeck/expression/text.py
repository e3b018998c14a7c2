"""Text: characters are Unicode code points, positions count from 1, case and blanks mean ASCII only."""

from __future__ import annotations

import operator
import string

from tarnbeck.expression.operation import Operation, both, plain

_UPPER, _LOWER = string.ascii_uppercase, string.ascii_lowercase
_TO_LOWER, _TO_UPPER = str.maketrans(_UPPER, _LOWER), str.maketrans(_LOWER, _UPPER)


def _replace(text: str, old: str, new: str) -> str:
    return text.replace(old, new) if old else text


def _split_part(text: str, separator: str, number: int) -> str:
    parts = text.split(separator)
    index = number - 1 if number > 0 else len(parts) + number
    return parts[index] if 0 <= index < len(parts) else ""


def _count(low: int) -> Operation:
    """A bigint as a position or length: null below `low`; beyond any text, all large numbers are alike."""
    return Operation(
        plain(lambda a: min(a, 2**31 - 1) if a >= low else None),
        f"CAST(if({{0}} >= {low}L, least({{0}}, 2147483647L), CAST(NULL AS BIGINT)) AS INT)",
        f"CAST(CASE WHEN {{0}} >= {low} THEN least({{0}}, 2147483647) END AS INTEGER)",
    )


OPERATIONS = {
    "count_from_0": _count(0),
    "count_from_1": _count(1),
    "length": Operation(plain(len), "CAST(char_length({0}) AS BIGINT)", "length({0})"),
    # Engines disagree on case beyond ASCII (the Turkish dotted I, the sharp s), so only ASCII letters change.
    "lower": both(lambda a: a.translate(_TO_LOWER), f"translate({{0}}, '{_UPPER}', '{_LOWER}')"),
    "upper": both(lambda a: a.translate(_TO_UPPER), f"translate({{0}}, '{_LOWER}', '{_UPPER}')"),
    "trim": Operation(plain(lambda a: a.strip(" ")), "trim(BOTH ' ' FROM {0})", "trim({0}, ' ')"),
    "ltrim": Operation(plain(lambda a: a.lstrip(" ")), "trim(LEADING ' ' FROM {0})", "ltrim({0}, ' ')"),
    "rtrim": Operation(plain(lambda a: a.rstrip(" ")), "trim(TRAILING ' ' FROM {0})", "rtrim({0}, ' ')"),
    "substring_from": both(lambda a, start: a[start - 1 :], "substring({0}, {1})"),
    "substring": both(lambda a, start, n: a[start - 1 : start - 1 + n], "substring({0}, {1}, {2})"),
    "left": both(lambda a, n: a[:n], "left({0}, {1})"),
    "right": both(lambda a, n: a[max(len(a) - n, 0) :], "right({0}, {1})"),
    "concat": Operation(
        plain(lambda *parts: "".join(parts)), "concat({all})", lambda _call, parts: f"({' || '.join(parts)})"
    ),
    "replace": both(_replace, "replace({0}, {1}, {2})"),
    "starts_with": Operation(plain(str.startswith), "startswith({0}, {1})", "starts_with({0}, {1})"),
    "ends_with": Operation(plain(str.endswith), "endswith({0}, {1})", "ends_with({0}, {1})"),
    "contains": both(operator.contains, "contains({0}, {1})"),
    "split_part": both(_split_part, "split_part({0}, {1}, {2})"),
}
