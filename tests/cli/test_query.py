"""`tarnbeck query` on a folder whose app does not run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tarnbeck.cli import main
from tests.serve.sample import filled, random_events, shop


@pytest.mark.parametrize(
    ("asked", "which"), [(["by_time"], "newest"), (["total", "--top", "orders"], "first")], ids=["newest", "top"]
)
def test_rows_that_are_left_out_are_told_as_what_they_are(
    asked: list[str], which: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled(tmp_path / "store", shop(), random_events(100)).close()
    with pytest.raises(SystemExit) as ended:
        main.main(["query", *asked, "--limit", "2", "--folder", str(tmp_path)])
    assert ended.value.code == 0
    assert f"only the {which} 2 rows are shown; for more: --limit" in capsys.readouterr().err


def test_a_key_that_is_given_again_has_several_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    filled(tmp_path / "store", shop(), random_events(100)).close()
    with pytest.raises(SystemExit) as ended:
        main.main(["query", "total", "item=plum", "item=pear", "--csv", "--folder", str(tmp_path)])
    assert ended.value.code == 0
    assert [line.split(",")[0] for line in capsys.readouterr().out.splitlines()] == ["item", "pear", "plum"]
