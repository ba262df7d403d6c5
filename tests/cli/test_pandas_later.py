"""The program does without pandas until somebody imports it; then pyarrow knows it as ever."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import benchbuilder

ASKING = """
import sys
import pyarrow as pa
from benchbuilder.cli.pandas_later import leave_pandas_for_later
leave_pandas_for_later()
ours = {"pa": pa, "__name__": "benchbuilder.somewhere"}
exec("made = pa.array([1, 2]), pa.schema([]).empty_table(), pa.Table.from_pylist([{'a': None}])", ours)
assert "pandas" not in sys.modules
IMPORT
import numpy as np, pandas as pd
assert pa.array(pd.Series([1.0, np.nan])).null_count == 1
assert pa.table({"a": [1]}).to_pandas().shape == (1, 1)
exec("made = pa.array(series)", ours | {"series": pd.Series([np.nan])})
"""


def _asks(text: str) -> None:
    subprocess.run([sys.executable, "-c", ASKING.replace("IMPORT", text)], check=True)


@pytest.mark.push
def test_pyarrow_looks_again_once_somebody_imports_pandas() -> None:
    _asks("")


@pytest.mark.push
def test_somebody_elses_table_may_become_a_data_frame_at_once() -> None:
    _asks("assert pa.table({'a': [1]}).to_pandas().shape == (1, 1)")


def test_the_program_itself_never_imports_pandas_by_a_statement() -> None:
    """Such an import would be taken for one of pyarrow."""
    package = Path(benchbuilder.__file__).parent
    for path in package.rglob("*.py"):
        text = path.read_text("utf-8")
        found = ast.walk(ast.parse(text)) if "pandas" in text else ()
        names = [alias.name for node in found if isinstance(node, ast.Import) for alias in node.names]
        assert not any(name.partition(".")[0] == "pandas" for name in names), path
