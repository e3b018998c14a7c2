"""`tarnbeck page --open`: the browser gets the token, and nobody else who looks at the machine."""

from __future__ import annotations

import html
import json
import webbrowser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tarnbeck.cli import main
from tarnbeck.node import running

ADDRESS = "http://127.0.0.1:8787/#token=a-secret"


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a browser was told to open."""
    facts = {"pid": 7, "url": "http://127.0.0.1:8787", "token": "a-secret", "app": "shop", "broker": ""}
    (tmp_path / "node.json").write_text(json.dumps(facts))
    monkeypatch.setattr(running, "running", lambda _: facts)
    asked: list[str] = []

    def browser(url: str) -> bool:
        asked.append(url)
        return True

    monkeypatch.setattr(webbrowser, "open", browser)
    return asked


def test_the_token_is_in_no_command_line_but_in_a_file_of_the_owner(
    tmp_path: Path, opened: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        with pytest.raises(SystemExit) as ended:
            main.main(["page", "--open", "--folder", str(tmp_path)])
        assert (ended.value.code or 0, capsys.readouterr().out) == (0, f"{ADDRESS}\n")
    assert opened[0] == opened[1]
    assert "a-secret" not in opened[0]
    file = Path(unquote(urlsplit(opened[0]).path))
    assert (file.parent, file.stat().st_mode & 0o777) == (tmp_path, 0o600)
    assert f"0;url={ADDRESS}" in html.unescape(file.read_text())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["node.json", "page.html"]
