"""The base install, told from what distributions require: the modules that it lacks, and those that an extra adds."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import Distribution, PackageNotFoundError, metadata, packages_distributions, requires
from typing import Any, ClassVar

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

EXTRAS = "BENCHBUILDER_TESTS_EXTRAS"
"""The environment variable with the extras that are installed for a command, separated by blanks."""
_NAME = "benchbuilder"


class _BareFinder(PathFinder):
    """Finds what Python finds, without the `hidden` modules and without what says that `absent` distributions exist."""

    hidden: ClassVar[set[str]] = set()
    absent: ClassVar[set[str]] = set()

    @classmethod
    def find_spec(cls, fullname: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        """Nothing for a hidden module and for what is in it."""
        return None if fullname.partition(".")[0] in cls.hidden else super().find_spec(fullname, path, target)

    @classmethod
    def find_distributions(cls, *args: Any, **kwargs: Any) -> Iterator[Distribution]:
        """The distributions that are not absent."""
        found = super().find_distributions(*args, **kwargs)
        return (one for one in found if canonicalize_name(one.name) not in cls.absent)


def hide_extras() -> None:
    """Find no module that the base install lacks; what is imported already stays."""
    for extra in extras():
        modules_of(extra)  # which is kept: later, nothing tells
    base = _distributions("")
    _BareFinder.hidden = {module for module, found in _modules().items() if not found & base}
    _BareFinder.absent = {name for found in _modules().values() for name in found - base}
    sys.meta_path[sys.meta_path.index(PathFinder)] = _BareFinder


def show_extras(extras: str) -> None:
    """Find the modules again that `extras` install, separated by blanks."""
    for extra in extras.split():
        _BareFinder.hidden -= modules_of(extra)
        _BareFinder.absent -= _distributions(extra)


def extras() -> list[str]:
    """The names of all extras."""
    return metadata(_NAME).get_all("Provides-Extra") or []


@cache
def modules_of(extra: str) -> frozenset[str]:
    """The modules that are there with an extra, and those of the base install."""
    there = _distributions(extra)
    return frozenset(module for module, found in _modules().items() if found & there)


@cache
def _modules() -> Mapping[str, frozenset[str]]:
    """The distributions that have a module, by its name."""
    return {
        name: frozenset(map(canonicalize_name, found))
        for name, found in packages_distributions().items() if name.isidentifier()
    }  # fmt: skip


@cache
def _distributions(extra: str) -> frozenset[str]:
    """The distributions that benchbuilder with an extra requires, and those that they require."""
    todo, seen = [(_NAME, extra)], set[tuple[str, str]]()
    while todo:
        here = todo.pop()
        if here in seen:
            continue
        seen.add(here)
        try:
            wanted = [Requirement(line) for line in requires(here[0]) or []]
        except PackageNotFoundError:
            continue
        for one in wanted:
            if one.marker is None or one.marker.evaluate({"extra": here[1]}):
                todo += [(canonicalize_name(one.name), name) for name in ("", *one.extras)]
    return frozenset(name for name, _ in seen)
