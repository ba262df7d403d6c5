"""The examples in docstrings run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import benchbuilder

MODULES = [
    module.name
    for module in pkgutil.walk_packages(benchbuilder.__path__, "benchbuilder.")
    if ".migrations." not in module.name  # these are run by Alembic alone
]


def test_examples_in_docstrings() -> None:
    attempted = 0
    for name in MODULES:
        result = doctest.testmod(importlib.import_module(name))
        assert result.failed == 0, name
        attempted += result.attempted
    assert attempted > 50
