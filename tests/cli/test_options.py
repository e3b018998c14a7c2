"""How the texts of options are read."""

from __future__ import annotations

import pytest

from tarnbeck.cli.options import form_of, pairs
from tarnbeck.cli.quarantine import place_of
from tarnbeck.errors import UsageError


def test_a_value_may_hold_equals_signs_and_be_empty() -> None:
    assert pairs(["a=b=c", "d="], "key", "a=b") == {"a": "b=c", "d": ""}


@pytest.mark.parametrize("text", ["EUR", "=EUR", ""])
def test_a_key_without_a_name_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected name=value, such as currency=EUR"):
        pairs([text], "key", "currency=EUR")


def test_a_key_given_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="given twice"):
        pairs(["a=1", "a=2"], "key", "a=1")


def test_two_output_forms_at_once_are_refused() -> None:
    with pytest.raises(UsageError, match="can't both be given"):
        form_of(json=True, csv=True)


@pytest.mark.parametrize("text", ["617", "0:", "-1:5", "0:x", "0:1:", "0:1:2:3"])
def test_a_bad_place_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected partition:offset"):
        place_of(text)
