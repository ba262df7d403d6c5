"""What the commands that must answer at once do not import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "torch", "transformers", "openai", "pandas", "polars", "pyarrow", "numpy", "scipy", "sklearn", "datasets", "hydra",
    "omegaconf", "pydantic", "jinja2", "opencc", "jieba", "jieba_next", "rank_bm25", "rapidfuzz", "openpyxl",
    "sacrebleu", "sqlalchemy", "asyncio", "ray", "numba",
}  # fmt: skip
CODE = """
import sys
from benchbuilder.cli.dispatch import main
code = main(sys.argv[1:])
sys.stderr.write("\\n" + " ".join(sorted({name.partition(".")[0] for name in sys.modules})))
sys.exit(code)
"""


def imported(*words: str) -> set[str]:
    """The packages that a process has imported when it has run a command."""
    root = Path(__file__).parents[2]
    result = subprocess.run(
        [sys.executable, "-c", CODE, *words], cwd=root, capture_output=True, text=True, check=False, encoding="utf-8"
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout
    return set(result.stderr.rpartition("\n")[2].split())


@pytest.mark.parametrize("words", [("--help",), ("--version",), ()])
def test_the_help_needs_nothing(words):
    assert not imported(*words) & (HEAVY | {"rich", "yaml", "argparse", "importlib_metadata"})


@pytest.mark.parametrize("words", [("ls",), ("ls", "--kinds")])
def test_listings_need_no_engine(words):
    assert not imported(*words) & HEAVY
