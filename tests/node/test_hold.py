"""Two nodes can't run on one folder, and settings reach the node's processes without loss."""

from __future__ import annotations

from pathlib import Path

import pytest

from tarnbeck.errors import StoreError
from tarnbeck.node.node import hold
from tarnbeck.node.settings import Settings


def test_a_folder_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    with hold(tmp_path / "data"), pytest.raises(StoreError, match="in use by another tarnbeck"):
        hold(tmp_path / "data")
    hold(tmp_path / "data").close()


def test_settings_survive_the_way_to_another_process(tmp_path: Path) -> None:
    settings = Settings(tmp_path, broker="b:1", properties=(("sasl.username", "ann"),), batch_every=5, lake="s3a://x/y")
    assert Settings.from_json(settings.to_json()) == settings
