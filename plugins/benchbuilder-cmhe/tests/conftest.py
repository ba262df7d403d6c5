"""One build of the recipe for all tests that look at one, and a record of the kinds whose contract was checked."""

from __future__ import annotations

import os

# before numpy and torch are imported: the threads of two workers would wait for each other
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import functools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchbuilder import testing
from benchbuilder.cli.dispatch import main

CONTRACTS = "test_every_kind_keeps_its_contract"
"""The test that runs last, and looks at what the others checked."""
_CHECKED: set[type[Any]] = set()


def _recorded(check: Callable[..., Any]) -> Callable[..., Any]:
    """The check, which then records the class of what it checked: itself, or what is made for it."""

    @functools.wraps(check)
    def recorded(subject: Any, *given: Any) -> Any:
        made: list[type[Any]] = []

        def make() -> Any:
            one = subject()
            made.append(type(one))
            return one

        if isinstance(subject, type):
            found, cls = check(subject, *given), subject
        elif callable(subject):
            found = check(make, *given)
            cls = made[0]
        else:
            found, cls = check(subject, *given), type(subject)
        _CHECKED.add(cls)
        return found

    return recorded


# before the tests import them; that a kind says what it is alone is no contract
for _name in testing.__all__:
    if _name.startswith("check_") and _name != "check_kind":
        setattr(testing, _name, _recorded(getattr(testing, _name)))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the look at the contracts last; where only some of the tests run, there is nothing to see."""
    items.sort(key=lambda item: item.name.startswith(CONTRACTS))
    files = {path.name for path in Path(__file__).parent.rglob("test_*.py")}
    if config.option.keyword or hasattr(config, "workerinput") or files > {item.path.name for item in items}:
        for item in items:
            if item.name.startswith(CONTRACTS):
                item.add_marker(pytest.mark.skip("only where all tests run, one after the other"))


@pytest.fixture(scope="session")
def checked_kinds() -> set[type[Any]]:
    """The kinds whose contract was checked until now."""
    return _CHECKED


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder `builds/cmhe` of the bundled sample, with all votes and sheets."""
    folder = tmp_path_factory.mktemp("cmhe")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["recipe=cmhe"]) == 0
    return folder / "builds" / "cmhe"


@pytest.fixture
def own_build(built: Path, tmp_path: Path) -> Path:
    """An empty folder but for a build of the sample of one's own; the working folder is there."""
    shutil.copytree(built.parent, tmp_path / "builds")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        yield tmp_path
