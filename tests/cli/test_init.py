"""A new app: its files, what they say, and that they run as they are."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tarnbeck.cli import init, main, show
from tarnbeck.node.loading import load
from tarnbeck.testing import run
from tests.docs.pages import ROOT, blocks_of
from tests.docs.shell import matches, shown


def started(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as ended:
        main.main(arguments)
    code = ended.value.code
    return code if isinstance(code, int) else 0


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    init.write(tmp_path / "shop", "shop")
    return tmp_path / "shop"


def test_the_app_loads_under_the_name_of_its_folder_and_is_short(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert started(["init", "Tea-Shop"]) == 0
    assert "cd Tea-Shop\n  tarnbeck up" in capsys.readouterr().out
    app = load(tmp_path / "Tea-Shop" / "app.py")
    assert (app.name, list(app.streams), list(app.views)) == ("tea_shop", ["orders"], ["sales", "countries"])
    assert len((tmp_path / "Tea-Shop" / "app.py").read_text().splitlines()) < 60
    assert all(init.NAME not in (tmp_path / "Tea-Shop" / file).read_text() for file in init.FILES)


def test_the_folder_one_is_in_takes_the_app_without_a_step_to_enter_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert started(["init", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["folder"], told["files"]) == (str(tmp_path), list(init.FILES))
    assert init.steps(Path())[0].startswith("tarnbeck up")


def test_nothing_that_exists_is_overwritten_and_nothing_is_written_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "README.md").write_text("mine")
    assert started(["init", str(tmp_path)]) == 2
    assert "has README.md already" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]
    assert (tmp_path / "README.md").read_text() == "mine"


def test_a_place_that_can_t_be_written_to_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert started(["init", str(tmp_path / "file" / "shop")]) == 5
    assert "can't write to" in capsys.readouterr().err


@pytest.mark.long
def test_its_own_tests_pass(shop: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider"],
        cwd=shop,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout


def test_its_readme_shows_what_its_views_say_of_its_events(shop: Path) -> None:
    lines = (shop / "events.ndjson").read_bytes().splitlines()
    counted = run(load(shop / "app.py"), lines)
    assert len(counted.rejects["orders"]) == 1
    asked = 0
    for block in blocks_of((shop / "README.md").read_text()):
        for each in shown(block.text):
            words = each.command.split()
            if words[1] == "query":
                chosen = dict(word.split("=") for word in words[3:] if "=" in word)
                level = words[words.index("--per") + 1] if "--per" in words else None
                assert matches(each.output, drawn(counted.rows(words[2], per=level), chosen, len(lines))), each.command
                asked += 1
            elif words[1] == "send":
                assert each.output.startswith(f"{len(lines)} acknowledged")
    assert asked == 2


def drawn(rows: list[dict[str, Any]], chosen: dict[str, str], records: int) -> str:
    """Rows as a terminal shows them, and the line that follows."""
    kept = [row for row in rows if all(row[key] == value for key, value in chosen.items())]
    names = [name for name in kept[0] if name != "end"]
    out = Console(file=io.StringIO(), width=100)
    show.draw(out, show.table(names, [[row[name] for name in names] for row in kept]))
    assert isinstance(out.file, io.StringIO)
    return f"{out.file.getvalue()}covers {records} records up to 0:5 1:3"


def test_the_wheel_holds_the_template(tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(ROOT / "tarnbeck", source / "tarnbeck", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    build = "from setuptools import build_meta; build_meta.build_wheel('..')"
    subprocess.run([sys.executable, "-W", "ignore", "-c", build], cwd=source, capture_output=True, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    assert {f"tarnbeck/cli/template/{file}" for file in init.FILES} <= held
