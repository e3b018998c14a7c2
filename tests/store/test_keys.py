"""Encoded keys: equal for equal keys only, in the order of the values, the first keys as a byte prefix."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarnbeck.schema.types import Physical
from tarnbeck.store.keys import after, encode

VALUES: dict[Physical, st.SearchStrategy[Any]] = {
    Physical.INT: st.integers(-(2**63), 2**63 - 1),
    Physical.WIDE: st.integers(-(10**38) + 1, 10**38 - 1),
    Physical.REAL: st.floats(allow_nan=False),
    Physical.TEXT: st.text(st.characters(exclude_categories=["Cs"]) | st.just("\x00")),
    Physical.BLOB: st.binary() | st.lists(st.sampled_from([b"\x00", b"\x01", b"\xff"])).map(b"".join),
}


@st.composite
def two_keys(draw: st.DrawFn) -> tuple[tuple[Physical, ...], tuple[Any, ...], tuple[Any, ...]]:
    forms = tuple(draw(st.lists(st.sampled_from(list(Physical)), min_size=1, max_size=3)))
    columns = [draw(st.tuples(st.none() | VALUES[form], st.none() | VALUES[form])) for form in forms]
    return forms, tuple(left for left, _ in columns), tuple(right for _, right in columns)


def _sortable(key: tuple[Any, ...]) -> tuple[tuple[bool, Any], ...]:
    return tuple((value is not None, 0 if value is None else value) for value in key)


@given(two_keys())
def test_bytes_compare_as_the_keys_do_with_nulls_first(keys: tuple[tuple[Physical, ...], Any, Any]) -> None:
    forms, left, right = keys
    encoded = encode(left, forms), encode(right, forms)
    assert (encoded[0] == encoded[1]) == (left == right)
    assert (encoded[0] < encoded[1]) == (_sortable(left) < _sortable(right))


@given(two_keys(), st.integers(0, 3))
def test_the_first_keys_are_a_prefix_of_exactly_the_keys_that_start_with_them(
    keys: tuple[tuple[Physical, ...], Any, Any], depth: int
) -> None:
    forms, left, right = keys
    prefix, whole = encode(left[:depth], forms[:depth]), encode(right, forms)
    assert whole.startswith(prefix) == (right[:depth] == left[:depth])
    if prefix:
        assert whole.startswith(prefix) == (prefix <= whole < after(prefix))


def test_both_zeros_are_one_key() -> None:
    assert encode((-0.0,), (Physical.REAL,)) == encode((0.0,), (Physical.REAL,))


def test_a_key_has_as_many_values_as_forms() -> None:
    with pytest.raises(ValueError, match="zip"):
        encode((1, 2), (Physical.INT,))
