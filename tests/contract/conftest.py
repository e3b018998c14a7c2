"""One case per store for each contract test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.stores import LACKS, STORES, Case


@pytest.fixture(params=STORES)
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Case]:
    if request.function.__name__ in LACKS[request.param]:
        pytest.skip(f"{request.param} declares that it lacks this")
    made = Case(STORES[request.param], tmp_path / "store")
    yield made
    made.store.close()
