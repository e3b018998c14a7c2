"""Arrays and maps: indexes count from 0, and what is not there is null."""

from __future__ import annotations

from typing import Any

from tarnbeck.expression.operation import Operation, plain


def _item(values: list[Any], index: int) -> Any:
    return values[index] if index < len(values) else None


OPERATIONS = {
    "item": Operation(plain(_item), "get({0}, {1})", "list_extract({0}, CAST({1} AS BIGINT) + 1)"),
    "entry": Operation(plain(lambda values, key: values.get(key)), "try_element_at({0}, {1})", "({0})[{1}]"),
    "size_array": Operation(plain(len), "CAST(size({0}) AS BIGINT)", "len({0})"),
    "size_map": Operation(plain(len), "CAST(size({0}) AS BIGINT)", "CAST(cardinality({0}) AS BIGINT)"),
    # Spark answers null when the value is missing and the array holds a null; a plain no is more useful.
    "array_contains": Operation(
        plain(lambda values, value: value in values),
        "if({0} IS NULL OR {1} IS NULL, CAST(NULL AS BOOLEAN), coalesce(array_contains({0}, {1}), FALSE))",
        "list_contains({0}, {1})",
    ),
    "map_contains_key": Operation(
        plain(lambda values, key: key in values),
        "map_contains_key({0}, {1})",
        "CASE WHEN {0} IS NOT NULL AND {1} IS NOT NULL THEN map_contains({0}, {1}) END",
    ),
}
