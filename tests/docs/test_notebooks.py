"""Notebooks are kept as they are written: whole, without outputs, and with code that Python takes."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.docs.notebooks import NOTEBOOKS, cells


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_is_kept_without_outputs(notebook: Path) -> None:
    found = cells(notebook)
    assert found
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in found)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_cells_of_a_notebook_are_python(notebook: Path) -> None:
    for cell in cells(notebook):
        compile("".join(cell["source"]), notebook.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
