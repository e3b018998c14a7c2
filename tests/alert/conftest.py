"""Fixtures of the alert tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.alert.receivers import certificate


@pytest.fixture(scope="session")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key with its certificate, which no authority has signed."""
    return certificate(tmp_path_factory.mktemp("tls"))
