"""The layout is the architecture: imports go one way, and heavy things stay in the rooms that own them."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tarnbeck

ROOT = Path(tarnbeck.__file__).parent
ORDER = [
    {"cut", "schema", "expression", "errors"},
    {"algebra", "window"},
    {"plan"},
    {"app"},
    {"memory", "arrow", "spark", "store", "log", "lake"},
    {"batch", "speed", "replay", "derive"},
    {"serve"},
    {"alert"},
    {"node"},
    {"examples"},
    {"cli", "testing", "__init__"},
]
HEIGHT = {room: height for height, rooms in enumerate(ORDER) for room in rooms}
OWNERS = {
    "pyspark": {"spark", "lake", "batch", "speed", "replay"},
    "confluent_kafka": {"log"},
}


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(ROOT.rglob("*.py")):
        yield path.relative_to(ROOT).parts[0].removesuffix(".py"), path


def imported(path: Path) -> Iterator[str]:
    """What a module imports when it runs, not what only type checkers read."""
    tree = ast.parse(path.read_text())
    only_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in only_types:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize(("room", "path"), list(modules()), ids=lambda value: str(value).replace(str(ROOT), ""))
def test_imports_go_one_way(room: str, path: Path) -> None:
    for name in imported(path):
        parts = name.split(".")
        if parts[0] == "tarnbeck" and len(parts) > 1 and parts[1] in HEIGHT and parts[1] != room:
            assert HEIGHT[parts[1]] <= HEIGHT[room], f"{path} imports {name}"
        if parts[0] in OWNERS:
            assert room in OWNERS[parts[0]], f"{path} imports {name}"


def test_a_declaration_needs_neither_spark_nor_kafka() -> None:
    code = "import sys, tarnbeck; print([name for name in ('pyspark', 'confluent_kafka') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_module_is_longer_than_400_lines() -> None:
    long = [path for _, path in modules() if len(path.read_text().splitlines()) > 400]
    assert not long
