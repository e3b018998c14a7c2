"""Everything that README and docs show is run: Python at once, commands and SQL against one running node."""

from __future__ import annotations

import csv
import doctest
import io
import json
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.node import Documented, documented, write_files
from tests.docs.pages import PAGES, Block, blocks, links, named_tests
from tests.docs.shell import can_run, matches, shown

LANGUAGES = {"python", "pycon", "console", "sql", "json", "ndjson", "csv", "text", "make"}
ON_NODE = [page for page in PAGES if any(block.needs_node and "no-run" not in block.words for block in blocks(page))]
Names = dict[str, Any]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Documented]:
    with documented(tmp_path_factory.mktemp("shop")) as running:
        yield running


def run_python(block: Block, page: str, names: Names, folder: Path) -> Names:
    """Runs a block of statements with the names of those before it; gives all names that there are then."""
    path = folder / f"block_{block.line}.py"
    path.write_text("\n" * (block.line - 1) + block.text)
    return runpy.run_path(str(path), init_globals=names)


def run_session(block: Block, page: str, names: Names, folder: Path) -> Names:
    """Runs what stands behind `>>>` and compares its output."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    session = doctest.DocTestParser().get_doctest(block.text, names, page, page, block.line - 1)
    said = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=flags, verbose=False)
    runner.run(session, out=said.write, clear_globs=False)
    assert not runner.failures, said.getvalue()
    return session.globs


def run_console(block: Block, page: str, node: Documented) -> None:
    for each in shown(block.text):
        if not can_run(each.command):
            continue
        found = node.run(each.command)
        assert matches(each.output, found), f"{page}:{block.line}: $ {each.command}\n{found}"


def run_sql(block: Block, page: str, node: Documented) -> None:
    from tarnbeck import connect

    with connect(node.terminal.folder / ".tarnbeck") as client:
        client.sql(block.text)


PYTHON = {"python": run_python, "pycon": run_session}
ASKED = {"console": run_console, "sql": run_sql}


@pytest.mark.parametrize("page", PAGES)
def test_python_blocks_of_a_page_run_one_after_the_other(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(page, tmp_path)
    names: Names = {}
    for block in blocks(page):
        if block.language in PYTHON and not block.needs_node and "no-run" not in block.words:
            names = PYTHON[block.language](block, page, names, tmp_path)


@pytest.mark.demo
@pytest.mark.parametrize("page", ON_NODE)
def test_commands_of_a_page_print_what_it_shows(
    page: str, node: Documented, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(node.terminal.folder)
    write_files(page, node.terminal.folder)
    names: Names = {}
    for block in blocks(page):
        if "no-run" in block.words:
            continue
        if block.language in PYTHON:
            text = block.text.replace("localhost:8787", node.terminal.server)
            at_node = Block(block.language, block.words, text, block.line)
            names = PYTHON[block.language](at_node, page, names, tmp_path)
        elif block.language in ASKED:
            ASKED[block.language](block, page, node)


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_a_page_is_of_a_kind_that_is_looked_at(page: str) -> None:
    for block in blocks(page):
        assert block.language in LANGUAGES, f"{page}:{block.line}: unknown kind of block '{block.language}'"


@pytest.mark.parametrize("page", PAGES)
def test_data_blocks_of_a_page_can_be_parsed(page: str) -> None:
    for block in blocks(page):
        if block.language == "json":
            json.loads(block.text)
        elif block.language == "ndjson":
            for line in block.text.splitlines():
                json.loads(line)
        elif block.language == "csv":
            header, *rows = csv.reader(block.text.splitlines(), strict=True)
            assert all(len(row) == len(header) for row in rows), f"{page}:{block.line}"


@pytest.mark.parametrize("page", PAGES)
def test_links_of_a_page_point_to_files_that_exist(page: str) -> None:
    missing = [str(path) for path in links(page) if not path.exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES)
def test_tests_that_a_page_names_exist(page: str) -> None:
    for path, function in named_tests(page):
        assert path.exists(), f"{page} names {path.name}"
        assert function is None or f"def {function}(" in path.read_text(), f"{page} names {path.name}::{function}"


def test_output_is_compared_word_by_word_except_for_what_varies() -> None:
    assert matches("12:00:01 ready: http://127.0.0.1:8787", "23:59:59 ready: http://127.0.0.1:41234")
    assert matches("6 acknowledged at 0:0-3 1:0-1", "6 acknowledged at 0:7-9 1:3-5")
    assert not matches("6 acknowledged at 0:0-3", "5 acknowledged at 0:0-3")
    assert not matches("2026-03-01 09:00:00", "2026-03-01 09:01:00")


def test_a_page_with_a_wrong_output_is_found(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="Expected"):
        run_session(Block("pycon", (), ">>> 1 + 1\n3\n", 1), "page", {}, tmp_path)
