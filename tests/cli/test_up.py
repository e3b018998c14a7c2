"""What `up` takes from its environment."""

from __future__ import annotations

import os

import pytest

from tarnbeck.cli.up import TOKEN, given_token
from tarnbeck.errors import UsageError


def test_a_token_of_ones_own_is_taken_and_not_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN, "correct-horse-battery")
    assert given_token() == "correct-horse-battery"
    assert TOKEN not in os.environ
    assert given_token() is None


@pytest.mark.parametrize("token", ["", "short", "has a blank in the middle", "tökens-of-16-characters"])
def test_a_token_that_could_be_guessed_or_misread_is_refused(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN, token)
    with pytest.raises(UsageError, match="16 or more") as error:
        given_token()
    assert token not in str(error.value) or not token
