"""What the list of examples promises: short files to copy, questions that are answered, a page that tells of them."""

from __future__ import annotations

import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tarnbeck.cli import main
from tarnbeck.cli.play import hints
from tarnbeck.cli.watch import Question
from tarnbeck.examples import strategy
from tarnbeck.examples.registry import EXAMPLES
from tarnbeck.node.loading import load
from tests.examples.fed import ran, sent, stored

pytestmark = pytest.mark.long

PAGE = (Path(__file__).parents[2] / "docs" / "examples.md").read_text(encoding="utf-8")
each_example = pytest.mark.parametrize("name", EXAMPLES)


@each_example
def test_an_app_is_a_file_of_less_than_60_lines_named_like_its_example(name: str) -> None:
    file = EXAMPLES[name].app
    assert len(file.read_text(encoding="utf-8").splitlines()) < 60
    assert load(file).name == name


@each_example
def test_what_is_watched_is_a_view_of_the_app_with_that_column(name: str) -> None:
    watch, views = EXAMPLES[name].watch, load(EXAMPLES[name].app).views
    view = views[watch.view]
    assert set(watch.keys) <= {key.name for key in view.keys}
    assert watch.per is None or watch.per in view.window.levels
    assert watch.column is None or watch.column in {output.name for output in view.outputs}


@each_example
def test_every_question_has_an_answer(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    now = datetime.now(UTC)
    orders = {"orders": [strategy.order("buy", now)]} if name == "trading" else {}
    stored(tmp_path, ran(name, sent(name, now=now), **orders))
    asked = [shlex.split(question) for question in EXAMPLES[name].questions]
    asked = [words[1:] for words in asked if words[:2] in (["tarnbeck", "query"], ["tarnbeck", "sql"])]
    assert len(asked) > 1
    for words in asked:
        with pytest.raises(SystemExit) as ended:
            main.main([*words, "--folder", str(tmp_path)])
        _, *rows = capsys.readouterr().out.splitlines()
        assert ended.value.code == 0, words
        # What only the last seconds hold may be gone by now on a busy machine, and no shelf need be empty.
        assert rows or any(word in words for word in ("5s", "10s", "20s", "left < 10")), words


@each_example
def test_every_question_stands_in_the_page_about_examples(name: str) -> None:
    example = EXAMPLES[name]
    assert f"\n## {name.capitalize()}\n" in PAGE
    assert [question for question in example.questions if f"\n$ {question}\n" not in PAGE] == []


@each_example
def test_hints_name_the_page_the_folder_and_the_server(name: str) -> None:
    question = Question(EXAMPLES[name].watch.view)
    look, ask, *others = hints(EXAMPLES[name], Path("here/.tarnbeck"), "http://127.0.0.1:4711", question)
    assert look == f"look at it: http://127.0.0.1:4711/#/view/{question.view}"
    assert ask.endswith("export TARNBECK_FOLDER=here/.tarnbeck")
    assert len(others) == len(EXAMPLES[name].questions)
    assert not [line for line in others if "localhost" in line]


def test_all_examples_are_listed_with_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main.main(["example"])
    _, *rows = capsys.readouterr().out.splitlines()
    assert [row.split("\t")[0] for row in rows] == list(EXAMPLES)
    assert all(row.split("\t")[1] for row in rows)


def test_the_file_of_an_example_can_be_printed(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with pytest.raises(SystemExit):
        main.main(["example", "house", "--source"])
    assert capfdbinary.readouterr().out == EXAMPLES["house"].app.read_bytes()


def test_an_unknown_example_is_refused_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main.main(["example", "hose"])
    assert ended.value.code == 2
    assert "did you mean 'house'?" in capsys.readouterr().err


def test_the_list_of_examples_needs_neither_arrow_nor_spark() -> None:
    heavy = ("pyarrow", "pyspark", "duckdb", "confluent_kafka")
    script = f"import sys, tarnbeck.examples.registry; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
