"""The examples in docstrings run."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted((ROOT / "benchbuilder").rglob("*.py"))
    if ">>>" in path.read_text("utf-8")
]


def test_examples_in_docstrings() -> None:
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
    for name in MODULES:
        module = importlib.import_module(name)
        for test in finder.find(module, name):
            if test.examples:  # to run a docstring without any looks at every file that was ever shown in a traceback
                assert runner.run(test).failed == 0, test.name
    assert runner.tries > 50
