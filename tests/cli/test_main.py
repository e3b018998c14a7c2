"""The command line as a whole: help, errors, exit codes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tarnbeck.cli import failure, main
from tarnbeck.cli.options import Session
from tarnbeck.errors import NotReady

WORDS = [*([command.name] for command in main.COMMANDS), *(["quarantine", each.name] for each in main.QUARANTINE)]


def _run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main.main(arguments)
    output = capsys.readouterr()
    code = ended.value.code
    return (code if isinstance(code, int) else 0), output.out, output.err


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_every_command_has_help_with_an_example(words: list[str]) -> None:
    result = CliRunner().invoke(main.application(), [*words, "--help"])
    assert result.exit_code == 0
    assert f"Example: tarnbeck {' '.join(words)}" in " ".join(result.output.split())


def test_the_list_of_commands_loads_nothing_heavy() -> None:
    heavy = ("pyarrow", "pyspark", "duckdb", "sqlglot", "confluent_kafka", "numpy", "starlette", "rich.table")
    script = f"import sys, tarnbeck.cli.main; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_mistake_is_told_in_one_message_without_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = _run(["send", "prices", "--folder", str(tmp_path)], capsys)
    assert (code, out) == (2, "")
    assert err == f"tarnbeck: no app has run in '{tmp_path}' yet\n  start one: tarnbeck up app.py\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nothing"], "tarnbeck: no such command 'nothing'\n  see: tarnbeck --help\n"),
        (["query"], "tarnbeck: query: missing argument 'VIEW'\n  see: tarnbeck query --help\n"),
        (["quarantine", "list", "--nope"], "tarnbeck: quarantine list: no such option: --nope"),
        (["up", "--port", "x"], "tarnbeck: up: invalid value for '--port'"),
    ],
)
def test_words_that_can_not_be_read_are_told_in_the_form_of_all_errors(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = _run(words, capsys)
    assert (code, out) == (2, "")
    assert err.startswith(told)


def test_no_words_at_all_ask_for_help(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = _run([], capsys)
    assert (code, "Start here: tarnbeck demo" in out + err) == (2, True)


def test_an_app_file_that_does_not_exist_is_told_with_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = _run(["up", "nothing.py", "--folder", str(tmp_path)], capsys)
    assert code == 2
    assert err.startswith("tarnbeck: no file 'nothing.py'")


def test_nothing_to_stop_is_no_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _run(["down", "--folder", str(tmp_path)], capsys)
    assert (code, out) == (0, f"nothing runs in '{tmp_path}'\n")


def test_the_folder_may_come_from_the_environment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TARNBECK_FOLDER", str(tmp_path / "here"))
    _, out, _ = _run(["down"], capsys)
    assert out == f"nothing runs in '{tmp_path / 'here'}'\n"


def test_an_error_ends_with_the_exit_code_of_its_class(capsys: pytest.CaptureFixture[str]) -> None:
    assert failure.tell(NotReady("building"), Session()) == NotReady.exit_code
    assert capsys.readouterr().err == "tarnbeck: building\n"


def test_an_unexpected_error_is_one_line_and_its_traceback_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert failure.tell(_raised(), Session(tmp_path)) == failure.UNEXPECTED
    (kept,) = (tmp_path / "logs").iterdir()
    assert "in _raised" in kept.read_text()
    assert capsys.readouterr().err == (
        f"tarnbeck: unexpected ZeroDivisionError: division by zero\n  the traceback is in {kept}\n"
    )


def test_debug_shows_the_traceback_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failure.tell(_raised(), Session(tmp_path, debug=True))
    assert "in _raised" in capsys.readouterr().err
    assert not (tmp_path / "logs").exists()


def test_a_folder_that_does_not_exist_is_not_made_for_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    failure.tell(_raised(), Session(tmp_path / "none"))
    assert not (tmp_path / "none").exists()
    assert str(tmp_path / "tarnbeck-error-") in capsys.readouterr().err


def _raised() -> Exception:
    try:
        raise ZeroDivisionError("division by zero")
    except ZeroDivisionError as error:
        return error
