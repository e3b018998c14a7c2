"""Runs the notebooks of the documentation as Jupyter does: in a kernel of their own, cell after cell."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.docs.pages import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
EXECUTE = "from nbclient.cli import main; main()"


def cells(notebook: Path, kind: str = "code") -> list[dict[str, Any]]:
    found = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == kind]


def executed(notebook: Path, folder: Path, **environment: str) -> Path:
    """The notebook with its outputs; a cell that fails is an error."""
    out = folder / notebook.name
    command = [sys.executable, "-c", EXECUTE, str(notebook), f"--output={out.with_suffix('')}", "--timeout=180"]
    given = {**os.environ, "IPYTHONDIR": str(folder), "JUPYTER_RUNTIME_DIR": str(folder / "run"), **environment}
    done = subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out
