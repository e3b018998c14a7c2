"""Two nodes can't run on one folder, and settings reach the node's processes without loss."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tarnbeck.errors import StoreError
from tarnbeck.node.lock import hold, holder
from tarnbeck.node.settings import Settings


def test_a_folder_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    with hold(tmp_path / "data"), pytest.raises(StoreError, match="in use by another tarnbeck"):
        hold(tmp_path / "data")
    hold(tmp_path / "data").close()


def test_asking_who_holds_a_folder_is_in_nobodys_way(tmp_path: Path) -> None:
    assert holder(tmp_path) is None
    with hold(tmp_path):
        assert [holder(tmp_path) for _ in range(100)] == [os.getpid()] * 100
    assert holder(tmp_path) is None
    stop = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(lambda: all(holder(tmp_path) in (None, os.getpid(), 0) for _ in iter(stop.is_set, True)))
        for _ in range(100):
            hold(tmp_path).close()
        stop.set()
        assert asking.result()


def test_settings_survive_the_way_to_another_process(tmp_path: Path) -> None:
    settings = Settings(tmp_path, broker="b:1", properties=(("sasl.username", "ann"),), batch_every=5, lake="s3a://x/y")
    assert Settings.from_json(settings.to_json()) == settings
