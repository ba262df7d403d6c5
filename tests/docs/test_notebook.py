"""The notebook of the tutorials runs in Jupyter from top to bottom."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from doc_blocks import ROOT

NOTEBOOK = ROOT / "docs" / "tutorials" / "from-python.ipynb"


def test_the_notebook_is_stored_without_outputs() -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    assert [cell["outputs"] for cell in cells if cell["cell_type"] == "code" and cell["outputs"]] == []


@pytest.mark.full
def test_the_notebook_runs_and_shows_progress_in_place(tmp_path: Path) -> None:
    copy = shutil.copy(NOTEBOOK, tmp_path)
    run = [sys.executable, "-c", "from nbclient.cli import main; main()", "--inplace", str(copy)]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    cells = [
        cell for cell in json.loads(Path(copy).read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"
    ]
    streams = [output["name"] for cell in cells for output in cell["outputs"] if output["output_type"] == "stream"]
    assert streams == ["stdout"], "only the message of the last cell is printed"
    shown = [output for output in cells[1]["outputs"] if output["output_type"] == "display_data"]
    assert len(shown) == 1, "the steps of a build change one output"
